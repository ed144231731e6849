# Reads our event files with the real TensorBoard and compares them with metrics.jsonl: events.py RUN [OTHER_FILES]
# With OTHER_FILES at least so many event files must be in tensorboard/train: those of a run that went on.
import json
import math
import pathlib
import struct
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run, *files = sys.argv[1:]
lines = [json.loads(line) for line in open(f"{run}/metrics.jsonl")]
want = {"train": {}, "eval": {}}
for line in lines:
    step = line.pop("step")
    side = want["train" if "learning_rate" in line else "eval"]
    for tag, value in line.items():
        side.setdefault(tag, []).append((step, value))
count = 0
for side, tags in want.items():
    folder = f"{run}/tensorboard/{side}"
    if side == "train" and files:
        assert len(list(pathlib.Path(folder).iterdir())) >= int(files[0]), folder
    events = EventAccumulator(folder, size_guidance={"scalars": 0}).Reload()
    assert sorted(events.Tags()["scalars"]) == sorted(tags), (side, events.Tags()["scalars"], sorted(tags))
    assert tags, f"metrics.jsonl has nothing for {side}"
    for tag, values in tags.items():
        found = [(e.step, e.value) for e in events.Scalars(tag)]
        assert [step for step, _ in found] == [step for step, _ in values], (side, tag, found, values)
        for (step, got), (_, wanted) in zip(found, values):
            wanted = struct.unpack("f", struct.pack("f", math.nan if wanted is None else wanted))[0]  # events hold f32
            assert got == wanted, (side, tag, step, got, wanted)
            count += 1
    times = [e.wall_time for e in events.Scalars("loss")]
    assert times == sorted(times) and times[0] > 1e9, times
print(f"peers: {run}: {count} values in TensorBoard as in metrics.jsonl")
