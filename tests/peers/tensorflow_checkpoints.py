# TensorFlow judges our checkpoints, and we read its: tensorflow_checkpoints.py PROGRAM CLASSIFIER_FOLDER PRETRAINED_FOLDER STATE [GOLDEN]
# STATE: a checkpoint of the run that PRETRAINED_FOLDER is of, with the slots of its optimizer. Values are equal to the bit, throughout.
# With GOLDEN, a folder, writes there the same tensors as a TF 1 and a TF 2 checkpoint of three data files (tests/data/tf2/tensorflow).
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0"}
import numpy as np
import tensorflow as tf

tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 3)
tf.get_logger().setLevel("ERROR")
program, classifier, pretrained, state, *golden = sys.argv[1:]
work = pathlib.Path("tensorflow")
work.mkdir()
VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
draw = np.random.default_rng(5)


def convert(source, to, *flags, unused=0):
    found = subprocess.run([program, "convert", f"--from={source}", f"--to={to}", *flags], capture_output=True, text=True)
    assert found.returncode == 0, f"{source} to {to}: {found.stderr}"
    # TF 2's own counters and settings are no tensors of a model: they are listed under their keys, and not counted here.
    lines = found.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("unused = "))
    left = list(itertools.takewhile(lambda line: line.startswith("  "), lines[at + 1:]))
    kept = [line for line in left if not line.endswith(VALUE)]
    assert "missing = 0" in lines and lines[at] == f"unused = {len(left)}" and len(kept) == unused, found.stdout
    return str(to)


def read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    types = {"F32": np.float32, "I64": np.int64}
    return {name: np.frombuffer(data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]], types[t["dtype"]]).reshape(t["shape"])
            for name, t in json.loads(data[8:8 + size]).items() if name != "__metadata__"}


def read_folder(folder):
    """The weights of a folder of transformers under the names of Google's TF 1 code."""
    tensors = {}
    for name, value in read_safetensors(f"{folder}/model.safetensors").items():
        if name.startswith("cls.predictions.decoder.") or name.endswith("position_ids"):
            continue  # the word table, and the bias that is there besides
        path = re.sub(r"(layer)\.(\d+)", r"\1_\2", name).replace(".", "/")
        if path.startswith(("classifier/", "cls/seq_relationship/")) or path == "cls/predictions/bias":
            path = path.replace("classifier/", "").replace("weight", "output_weights").replace("bias", "output_bias")
        elif "LayerNorm" in path:
            path = path.replace("weight", "gamma").replace("bias", "beta")
        elif "_embeddings/" in path:
            path = path.removesuffix("/weight")
        elif path.endswith("/weight"):
            path, value = path.replace("/weight", "/kernel"), value.T
        tensors[path] = value
    return tensors


def equal(name, got, wanted):
    """Both map names to arrays."""
    assert got.keys() == wanted.keys(), (name, sorted(got.keys() ^ wanted.keys()))
    for key, value in wanted.items():
        found = np.asarray(got[key])
        assert found.dtype == value.dtype and found.shape == value.shape, (name, key, found.dtype, found.shape, value.dtype, value.shape)
        assert found.tobytes() == np.ascontiguousarray(value).tobytes(), (name, key)
    print(f"peers: {name}: {len(wanted)} tensors equal", flush=True)


def listed(prefix):
    """All that TensorFlow lists in the checkpoint, but for the object graph."""
    reader = tf.train.load_checkpoint(prefix)
    variables = {name: shape for name, shape in tf.train.list_variables(prefix) if name != "_CHECKPOINTABLE_OBJECT_GRAPH"}
    values = {name: reader.get_tensor(name) for name in variables}
    assert all(list(np.shape(values[name])) == shape for name, shape in variables.items()), variables
    return values


class Layout:
    """Where in a tree of TensorFlow's objects the tensors of Google's names are, and in which shape."""

    def __init__(self, heads, encoder, head=None, masked_lm=None, next_sentence=None, pooler=None, inner_output=False):
        self.heads, self.inner_output = heads, inner_output
        self.starts = {"bert/": encoder, "output_": head, "cls/predictions/": masked_lm, "cls/seq_relationship/": next_sentence}
        self.pooler = pooler

    def place(self, name, value, layers):
        """(path, value) of a variable."""
        start = next(s for s in self.starts if name.startswith(s))
        to, rest = self.starts[start], name[len(start):]
        leaf = rest.split("/")[-1]
        if start == "output_" or start == "cls/seq_relationship/":
            return (f"{to}/kernel", value.T) if name.endswith("weights") else (f"{to}/bias", value)
        if start == "cls/predictions/":
            numbered = to.endswith("layer_with_weights-1")
            part = {"dense": ("layer_with_weights-0", "dense"), "LayerNorm": ("layer_with_weights-1", "layer_norm"),
                    "predictions": ("layer_with_weights-2", "output_bias.Sbias")}[name.split("/")[-2]][not numbered]
            return f"{to}/{part}" + ("" if part.endswith("bias") else f"/{leaf.removeprefix('output_')}"), value
        if rest.startswith("embeddings/"):
            number = ["word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm"].index(rest.split("/")[1])
            return f"{to}/layer_with_weights-{number}/{leaf if number == 3 else 'embeddings'}", value
        if rest.startswith("pooler/"):
            return f"{self.pooler or f'{to}/layer_with_weights-{4 + layers}'}/{leaf}", value
        number, part = re.fullmatch(r"encoder/layer_(\d+)/(.*)/\w+", rest).groups()
        in_layer = {"attention/output/dense": "_attention_layer/_output_dense" if self.inner_output else "_attention_output_dense",
                    "attention/output/LayerNorm": "_attention_layer_norm", "intermediate/dense": "_intermediate_dense",
                    "output/dense": "_output_dense", "output/LayerNorm": "_output_layer_norm"}
        if part.startswith("attention/self/"):
            in_layer[part] = f"_attention_layer/_{part.split('/')[-1]}_dense"
            value = value.reshape(*value.shape[:-1], self.heads, -1)
        elif part == "attention/output/dense" and leaf == "kernel":
            value = value.reshape(self.heads, -1, value.shape[-1])
        return f"{to}/layer_with_weights-{4 + int(number)}/{in_layer[part]}/{leaf}", value

    def variables(self, tensors):
        """{path: value} of all but slots and the step."""
        layers = sum(name.endswith("/intermediate/dense/bias") for name in tensors)
        return dict(self.place(name, value, layers) for name, value in tensors.items() if not re.search("/adam_.$|global_step", name))

    def slots(self, tensors):
        """{(path, m or v): value}."""
        layers = sum(name.endswith("/intermediate/dense/bias") for name in tensors)
        found = {}
        for name, value in tensors.items():
            if name.endswith(("/adam_m", "/adam_v")):
                path, value = self.place(name[:-len("/adam_m")], value, layers)
                found[path, name[-1]] = value
        return found


ENCODER = {"encoder": "model"}
CLASSIFIER = {"encoder": "model/layer_with_weights-0", "head": "model/layer_with_weights-1/layer_with_weights-0"}
PRETRAINER = {"encoder": "model/layer_with_weights-0/layer_with_weights-0", "masked_lm": "model/layer_with_weights-0/layer_with_weights-1",
              "next_sentence": "model/layer_with_weights-0/layer_with_weights-2/layer_with_weights-0"}


class Optimizer(tf.Module):
    """What a checkpoint sees of an optimizer of Keras in TensorFlow 2.2."""

    def __init__(self, decay=0.0):
        super().__init__()
        self.iter = tf.Variable(0, dtype=tf.int64)
        self.beta_1, self.beta_2, self.decay = (tf.Variable(x, dtype=tf.float32) for x in (0.9, 0.999, decay))
        object.__setattr__(self, "_by_slot", {})  # not an object of the checkpoint

    def _no_dependency(self, value):
        return value

    def get_slot_names(self):
        return sorted({slot for _, slot in self._by_slot})

    def get_slot(self, variable, slot):
        return self._by_slot.get((variable.ref() if hasattr(variable, "ref") else variable, slot))

    def make_slot(self, variable, slot, value):
        self._by_slot[variable.ref(), slot] = tf.Variable(value)

    def _create_or_restore_slot_variable(self, slot_variable_position, slot_name, variable):
        self.make_slot(variable, slot_name, tf.zeros_like(variable))
        slot_variable_position.restore(self.get_slot(variable, slot_name))


def tree(values):
    """Root object of objects, with variables of the values at their paths."""
    root = tf.Module()
    variables = {}
    for path, value in values.items():
        node = root
        *inner, leaf = [name.replace("..", ".").replace(".S", "/") for name in path.split("/")]
        for name in inner:
            if not hasattr(node, name):
                setattr(node, name, tf.Module())
            node = getattr(node, name)
        with tf.device(f"CPU:{len(variables) % 3}"):
            variables[path] = tf.Variable(value)
        setattr(node, leaf, variables[path])
    return root, variables


def judge_tf2(name, source, tensors, heads, places, *flags, form="tf2"):
    """Our TF 2 file of what has the tensors: TensorFlow's reader lists it, and restores it into objects."""
    layout = Layout(heads, **places)
    written = {key: value for key, value in tensors.items() if form == "tf2" or key.startswith("bert/")}
    prefix = convert(source, work / f"{name}-{form}" / "ckpt-1", f"--format={form}", *flags, unused=len(tensors) - len(written))
    tensors = written
    wanted, slots = layout.variables(tensors), layout.slots(tensors)
    keys = {path + VALUE: value for path, value in wanted.items()}
    keys |= {f"{path}/.OPTIMIZER_SLOT/optimizer/{slot}{VALUE}": value for (path, slot), value in slots.items()}
    keys["save_counter" + VALUE] = np.array(1)
    step = tensors.get("global_step", np.array(0))
    if "cls/predictions/output_bias" in tensors:  # pre-training always has an optimizer, if one without slots
        keys["optimizer/iter" + VALUE] = step
    if slots:
        keys |= {f"optimizer/{key}{VALUE}": np.array(value, np.float32) for key, value in (("beta_1", 0.9), ("beta_2", 0.999), ("decay", 0))}
    equal(f"{name} as {form}", listed(prefix), keys)

    root, variables = tree({path: np.zeros_like(value) for path, value in wanted.items()})
    checkpoint = {"model": root.model}
    if slots:
        checkpoint["optimizer"] = optimizer = Optimizer(decay=1.0)
        for path, slot in slots:
            optimizer.make_slot(variables[path], slot, np.ones_like(wanted[path]))
    tf.train.Checkpoint(**checkpoint).restore(prefix).assert_existing_objects_matched()
    equal(f"{name} as {form}, restored", {path: variable.numpy() for path, variable in variables.items()}, wanted)
    if slots:
        got = {(path, slot): optimizer.get_slot(variables[path], slot).numpy() for path, slot in slots}
        equal(f"{name} as {form}, slots restored", got, slots)
        assert optimizer.iter.numpy() == step and optimizer.decay.numpy() == 0 and optimizer.beta_2.numpy() == np.float32(0.999)
    root.model.one_more = tf.Variable(0.0)
    try:
        tf.train.Checkpoint(**checkpoint).restore(prefix).assert_existing_objects_matched()
    except AssertionError:
        return
    sys.exit(f"{name}: restoring did not miss a variable that is not there")


def judge_tf1(name, source, tensors, *flags):
    equal(f"{name} as tf1", listed(convert(source, work / f"{name}-tf1" / "model.ckpt", *flags)), tensors)


def small_model(*heads, slots=False):
    """Drawn tensors of a model of 2 layers under Google's names."""
    shapes = {"bert/embeddings/word_embeddings": (40, 24), "bert/embeddings/position_embeddings": (16, 24),
              "bert/embeddings/token_type_embeddings": (2, 24), "bert/pooler/dense/kernel": (24, 24), "bert/pooler/dense/bias": (24,)}
    norms = ["bert/embeddings"]
    for i in range(2):
        start = f"bert/encoder/layer_{i}"
        for part, (rows, columns) in {"attention/self/query": (24, 24), "attention/self/key": (24, 24), "attention/self/value": (24, 24),
                                      "attention/output/dense": (24, 24), "intermediate/dense": (24, 48), "output/dense": (48, 24)}.items():
            shapes |= {f"{start}/{part}/kernel": (rows, columns), f"{start}/{part}/bias": (columns,)}
        norms += [f"{start}/attention/output", f"{start}/output"]
    if "masked_lm" in heads:
        start = "cls/predictions/"
        shapes |= {start + "transform/dense/kernel": (24, 24), start + "transform/dense/bias": (24,), start + "output_bias": (40,)}
        norms.append(start + "transform")
    if "next_sentence" in heads:
        shapes |= {"cls/seq_relationship/output_weights": (2, 24), "cls/seq_relationship/output_bias": (2,)}
    if "classifier" in heads:
        shapes |= {"output_weights": (3, 24), "output_bias": (3,)}
    shapes |= {f"{norm}/LayerNorm/{part}": (24,) for norm in norms for part in ("gamma", "beta")}
    if slots:
        shapes |= {f"{name}/adam_{slot}": shape for name, shape in list(shapes.items()) for slot in "mv"}
    tensors = {name: draw.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    return tensors | ({"global_step": np.array(77)} if slots else {})


def judge_reading(name, path, tensors, shards):
    """We read the same from a file of TensorFlow's."""
    found = len(list(pathlib.Path(path).parent.glob(pathlib.Path(path).name + ".data-*")))
    assert found == shards, (name, found)
    about = [f"--bert_config_file={work}/bert_config.json", f"--vocab_file={work}/vocab.txt"]
    equal(f"{name}, {shards} data file(s)", read_safetensors(convert(path, work / f"{name}.safetensors", "--format=safetensors", *about)), tensors)
    weights = {key: value for key, value in tensors.items() if not re.search("/adam_.$|global_step", key)}
    equal(f"{name}, as a folder", read_folder(convert(path, work / f"{name}-folder", *about, unused=len(tensors) - len(weights))), weights)


def save_tf1(name, tensors, **options):
    """TF 1's Saver; each variable on one of three devices, which share a file each if it is sharded."""
    (work / name).mkdir()
    devices = tf.compat.v1.ConfigProto(device_count={"CPU": 3})
    with tf.Graph().as_default(), tf.compat.v1.Session(config=devices) as session:
        for i, (key, value) in enumerate(tensors.items()):
            with tf.device(f"/cpu:{i % 3}"):
                tf.compat.v1.get_variable(key, initializer=value, use_resource=False)
        session.run(tf.compat.v1.global_variables_initializer())
        return tf.compat.v1.train.Saver(**options).save(session, str(work / name / "model.ckpt"), global_step=77)


class Shards(tf.train.experimental.ShardingCallback):
    """Tensors in turn to one of three data files."""

    description = "in turn"

    def __call__(self, shardable_tensors):
        files = [{}, {}, {}]
        for i, shardable in enumerate(shardable_tensors):
            slices = files[i % 3].setdefault(shardable.checkpoint_key, {})
            slices[shardable.slice_spec] = shardable.tensor
        return [file for file in files if file]


def save_tf2(name, tensors, places, shared=(), counter=None, sharded=False):
    """tf.train.Checkpoint of a tree in the layout. `shared`: paths of the word table, which then has no key under the encoder; `counter`:
    the step's name at the root, whose key it has then."""
    layout = Layout(3, **places)
    root, variables = tree(layout.variables(tensors))
    slots = layout.slots(tensors)
    if slots:
        root.optimizer = Optimizer()
        root.optimizer.iter.assign(int(tensors["global_step"]))
        for (path, slot), value in slots.items():
            root.optimizer.make_slot(variables[path], slot, value)
        if counter:
            setattr(root, counter, root.optimizer.iter)
    table, = [v for p, v in variables.items() if p.endswith("layer_with_weights-0/embeddings")]
    for path in shared:
        *inner, leaf = path.split("/")
        node = root
        for part in inner:
            node = getattr(node, part)
        setattr(node, leaf, table)
    options = tf.train.CheckpointOptions(experimental_sharding_callback=Shards()) if sharded else None
    objects = {key: value for key, value in vars(root).items() if isinstance(value, (tf.Module, tf.Variable))}
    prefix = tf.train.Checkpoint(**objects).save(str(work / name / "ckpt"), options=options)
    keys = {key for key, _ in tf.train.list_variables(prefix)}
    assert bool(shared) != any(key.endswith(f"layer_with_weights-0/embeddings{VALUE}") for key in keys), keys
    assert bool(counter) == (slots != {} and "optimizer/iter" + VALUE not in keys), keys
    return prefix


# Ours, read by TensorFlow.
tensors = read_folder(classifier)
heads = json.loads(pathlib.Path(classifier, "config.json").read_text())["num_attention_heads"]
judge_tf1("classifier", classifier, tensors)
judge_tf2("classifier", classifier, tensors, heads, CLASSIFIER)
judge_tf2("classifier", classifier, tensors, heads, ENCODER, form="tf2-encoder")
tensors = read_folder(pretrained)
judge_tf1("pretraining", pretrained, tensors)
judge_tf2("pretraining", pretrained, tensors, heads, PRETRAINER)
tensors, about = read_safetensors(state), [f"--bert_config_file={pretrained}/config.json", f"--vocab_file={pretrained}/vocab.txt"]
assert tensors["global_step"] > 0 and "bert/pooler/dense/bias/adam_v" in tensors, sorted(tensors)
judge_tf1("training", state, tensors, *about)
judge_tf2("training", state, tensors, heads, PRETRAINER, *about)

# TensorFlow's, read by us.
(work / "vocab.txt").write_text("".join(f"{p}\n" for p in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + [f"piece{i}" for i in range(35)]))
(work / "bert_config.json").write_text(json.dumps({
    "vocab_size": 40, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 48, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "max_position_embeddings": 16, "type_vocab_size": 2,
    "initializer_range": 0.02}))
for sharded in (False, True):
    tensors = small_model("masked_lm", "next_sentence", slots=True)
    judge_reading(f"saver-{sharded}", save_tf1(f"saver-{sharded}", tensors, sharded=sharded), tensors, 3 if sharded else 1)
LATER = {"inner_output": True, "head": "model/layer_with_weights-1/out_proj"}
MASKED_LM = "model/layer_with_weights-0/layer_with_weights-2"
RELEASED = {"encoder": "encoder", "inner_output": True, "masked_lm": "masked_lm", "pooler": "next_sentence..pooler_dense",
            "next_sentence": "next_sentence/out_proj"}
for name, tensors, places, options in (
        ("tf2.2-encoder", small_model(), ENCODER, {}),
        ("tf2.10-encoder", small_model(), {"encoder": "encoder", "inner_output": True}, {"sharded": True}),
        ("tf2.2-classifier", small_model("classifier", slots=True), CLASSIFIER, {}),
        ("tf2.10-classifier", small_model("classifier", slots=True), CLASSIFIER | LATER, {"sharded": True}),
        ("tf2.2-pretraining", small_model("masked_lm", "next_sentence", slots=True), PRETRAINER, {}),
        ("tf2.10-pretraining", small_model("masked_lm", "next_sentence", slots=True),
         PRETRAINER | {"inner_output": True, "masked_lm": MASKED_LM,
                       "next_sentence": "model/layer_with_weights-0/layer_with_weights-1/layer_with_weights-0"},
         {"counter": "global_step", "shared": [f"{MASKED_LM}/embedding_table"]}),
        ("released-pretrainer", small_model("masked_lm", "next_sentence"), RELEASED, {"shared": ["masked_lm/embedding_table"]})):
    judge_reading(name, save_tf2(name, tensors, places, **options), tensors, 3 if options.get("sharded") else 1)

if golden:
    tensors = small_model("masked_lm", "next_sentence")
    for prefix in (save_tf1("golden-tf1", tensors, sharded=True),
                   save_tf2("golden-tf2", tensors, RELEASED, shared=["masked_lm/embedding_table"], sharded=True)):
        prefix = pathlib.Path(prefix)
        to = pathlib.Path(golden[0], prefix.parent.name.removeprefix("golden-"))
        to.mkdir(parents=True, exist_ok=True)
        for file in prefix.parent.glob(prefix.name + ".[id]*"):  # without the graph of TF 1
            shutil.copy(file, to)
