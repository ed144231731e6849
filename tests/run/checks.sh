# Checks for the scripts of this folder; each prints what it saw when it fails.

# fails CODE TEXT COMMAND...: the command must exit with CODE and say TEXT (a fixed string) on standard error.
fails() {
  want=$1; text=$2; shift 2
  code=0; "$@" >out.txt 2>err.txt || code=$?
  [ "$code" = "$want" ] || { echo "exit code $code, expected $want: $*"; tail -n 50 err.txt; exit 1; }
  grep -qF -e "$text" err.txt || { echo "expected '$text' from: $*"; cat err.txt; exit 1; }
}

# prints TEXT COMMAND...: the command must succeed and print TEXT (a fixed string) on standard output.
prints() {
  text=$1; shift
  "$@" >out.txt 2>err.txt || { echo "failed: $*"; cat err.txt; exit 1; }
  grep -qF -e "$text" out.txt || { echo "expected '$text' from: $*"; cat out.txt err.txt; exit 1; }
}

# same A B: two files are equal to the byte.
same() {
  cmp "$1" "$2" || { echo "$1 and $2 differ"; exit 1; }
}
