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

# never COMMAND...: the command must fail; a bare `! command` is no check, as `set -e` lets its failure pass.
never() {
  if "$@"; then echo "succeeded, and must not: $*"; exit 1; fi
}

# same A B: two files are equal to the byte.
same() {
  cmp "$1" "$2" || { echo "$1 and $2 differ"; exit 1; }
}

# near A B TOLERANCE: two files have as many lines, and the last fields of each pair, where both are numbers, differ by that
# at most.
near() {
  [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ] || { echo "$1 and $2 differ in length"; exit 1; }
  paste -d ' ' "$1" "$2" | awk -v most="$3" '
    { a = $(NF / 2); b = $NF }
    (a ~ /^[0-9.e+-]+$/) != (b ~ /^[0-9.e+-]+$/) { print "a number on one side alone: " $0; bad = 1; next }
    a ~ /^[0-9.e+-]+$/ { d = a - b; n++; if (d > most || d < -most) { print "too far apart: " $0; bad = 1 } }
    END { if (!n) print "no numbers to compare"; exit bad || !n }' || exit 1
}

# within KIB COMMAND...: with so much address space; with all there is where AddressSanitizer is in the program, which maps
# terabytes.
within() {
  limit=$1; shift
  grep -qa __asan_init "$bertrain" || ulimit -v "$limit"
  "$@"
}
