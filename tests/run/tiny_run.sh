# Data and a model small enough that a run takes a second: corpus.txt, vocab.txt, data.tfrecord, config.json, rows.tsv. Each
# document of the corpus, and each label of the rows, has words of its own, so that there is something to learn.
awk 'BEGIN {
  n = split("apple pear plum fig grape lemon melon peach cherry berry mango olive date lime kiwi nut", w, " ")
  for (d = 0; d < 20; ++d) {
    for (s = 0; s < 5; ++s) {
      line = ""
      for (i = 0; i < 6; ++i) line = line w[1 + (d * 3 + (d * 7 + s * 5 + i * i) % 4) % n] " "
      print line "."
    }
    print ""
  }
}' >corpus.txt
printf '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\napple\npear\nplum\nfig\ngrape\nlemon\nmelon\npeach\ncherry\nberry\nmango\nolive\ndate\nlime\nkiwi\nnut\n' >vocab.txt
$bertrain prepare --input_file=corpus.txt --output_file=data.tfrecord --vocab_file=vocab.txt --max_seq_length=32 \
  --max_predictions_per_seq=5 --dupe_factor=2 2>prepare.txt
cat >config.json <<'EOF'
{"vocab_size": 22, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
 "max_position_embeddings": 64, "type_vocab_size": 2}
EOF
awk 'BEGIN {
  n = split("apple pear plum fig grape lemon melon peach", w, " ")
  print "label\ttext"
  for (i = 0; i < 60; ++i) { k = i % 3; print "c" k "\t" w[1 + k * 2] " " w[1 + i % n] " " w[2 + k * 2] " " w[1 + (i * 5) % n] }
}' >rows.tsv
# One thread: at this size more of them only wait for each other.
pretrain="$bertrain pretrain --threads=1 --input_file=data.tfrecord --vocab_file=vocab.txt --bert_config_file=config.json --train_batch_size=8 --learning_rate=1e-3"
finetune="$bertrain finetune --threads=1 --train_file=rows.tsv --vocab_file=vocab.txt --bert_config_file=config.json --train_batch_size=8 --learning_rate=1e-3"

# says TEXT: what the last command wrote to standard error (err.txt) holds TEXT.
says() { grep -qF -e "$1" err.txt || { echo "expected '$1' in:"; cat err.txt; exit 1; }; }
# same_model A B: the weights of two finished runs are equal to the bit.
same_model() { same "$1/model/model.safetensors" "$2/model/model.safetensors"; }
