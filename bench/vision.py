#!/usr/bin/env python3
"""Vision-language training: SmolVLM-256M's shape below a memory line, and memory over epochs, beside transformers and PIL.

    python3 bench/vision.py line PROGRAM FOLDER      # in a control group of 1 GB (version 1, as root), then transformers + peft; 5 minutes
    python3 bench/vision.py flat PROGRAM FOLDER      # five epochs over 1,800 pictures; writes FOLDER/rss.svg; 10 minutes

PROGRAM is the plimsoll to measure, FOLDER where models and pictures are or will be made (600 MB). Weights are random, nothing is downloaded.
Needs numpy, Pillow, torch, transformers and peft. The quieter the machine, the more its times mean.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from finetune import in_group, write_model

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "e2e"))
import pictures
from vision_folder import IMAGE, make_tiny, vision_config, vision_tensors, write_processing

SMOLVLM = vision_config((576, 1536, 30, 9, 3, 49280), (768, 3072, 12, 12, 512, 16), 4, "bfloat16")
SIZES = [(512, 512), (640, 480), (480, 640), (800, 600)]
TEXT = 128  # tokens, those of the template included
CONTEXT = 64 + 3 + TEXT + 1  # a tile, what stands around it, the text; windows have one target less than tokens


def smolvlm(models):
    folder = pathlib.Path(models) / "smolvlm-256m"
    if not folder.exists():
        write_model(folder, SMOLVLM, list(vision_tensors(SMOLVLM)))
    write_processing(folder, 512, 512, split=False)  # one tile of a picture
    return folder


def make_data(folder, count):
    """Pictures of common sizes, and rows that ask about each; a row has one tile and TEXT tokens."""
    import numpy
    rng = numpy.random.default_rng(4)
    with open(folder / "rows.jsonl", "w") as rows:
        for i in range(count):
            data, extension = pictures.make(("jpeg", "png", "webp")[i % 3], rng, *SIZES[i % len(SIZES)])
            (folder / f"{i}.{extension}").write_bytes(data)
            around = len("User:") + len("Assistant: ") + 5
            rows.write(json.dumps({"text": "What is it?", "image": f"{i}.{extension}", "response": ("abcdefgh" * 20)[:TEXT - around - 11]}) + "\n")


def ours(program, model, data, limit, epochs, count, group):
    """Its JSON with the seconds of every step, or its last error line."""
    metrics, out = data / "metrics.jsonl", data / "run"
    arguments = [program, "train", "--model", model, "--data", data / "rows.jsonl", "--lora-rank", 16, "--context", CONTEXT, "--memory", limit,
                 "--image-buffer", "16MB", "--image-cache", "100MB", "--batch", 1, "--iterations", epochs * count, "--eval-every", 0,
                 "--sample-every", 0, "--checkpoint-every", 0, "--log-every", 1, "--metrics", metrics, "--out", out, "--json"]
    done = subprocess.run(["bash", "-c", f"echo $$ > {group}/cgroup.procs && exec \"$@\"", "bash", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1]
    result = json.loads(done.stdout)
    ends = [row["time"] for row in map(json.loads, metrics.read_text().splitlines()) if row["type"] == "step"]
    result["steps"] = [after - before for before, after in zip([None, *ends][1:], ends[1:])]
    return result, "\n".join(line for line in done.stderr.splitlines() if line.startswith(("Pictures", "Line", "note:")))


PEFT = """
import json, sys, time, torch, transformers, peft
from PIL import Image
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
model, data, dtype, checkpointing, context, text, image = sys.argv[1], sys.argv[2], getattr(torch, sys.argv[3]), sys.argv[4] == "yes", *map(int, sys.argv[5:8])
processor = Idefics3ImageProcessorPil(**json.load(open(model + "/preprocessor_config.json")))
net = transformers.Idefics3ForConditionalGeneration.from_pretrained(model, dtype=dtype)
if checkpointing:
    net.gradient_checkpointing_enable()
    net.enable_input_require_grads()
linear = "(q|k|v|o|gate|up|down)_proj"
net = peft.get_peft_model(net, peft.LoraConfig(r=16, lora_alpha=32, target_modules=rf"model\\.text_model\\..*\\.{linear}"))
net.train()
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=2e-4)
for row in map(json.loads, open(data + "/rows.jsonl")):
    began = time.monotonic()
    with Image.open(data + "/" + row["image"]) as opened:
        pixels = torch.tensor(processor(images=[opened.convert("RGB")])["pixel_values"][0][None]).to(dtype)
    ids = torch.randint(256, (1, context))
    ids[0, 2:66] = image
    labels = ids.clone()
    labels[0, :context - text] = -100
    net(input_ids=ids, pixel_values=pixels, labels=labels).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(time.monotonic() - began, flush=True)
print(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024)
"""


def our_line(program, model, data, limit, count):
    (r, said), peak, kills = in_group(limit, lambda group: ours(program, model, data, limit, 2, count, group))
    if not r:
        sys.exit(f"refused: {said}")
    first, second = r["steps"][:count - 1], r["steps"][count - 1:]  # the first step has no beginning
    print(f"SmolVLM-256M, rank 16, one tile and {TEXT} tokens, line {limit / 1e6:.0f} MB: plan {r['plan_bytes'] / 1e6:.0f} MB, process "
          f"{r['peak_rss_bytes'] / 1e6:.0f} MB, group {peak / 1e6:.0f} MB, {kills} kills\n"
          f"  {statistics.median(first):.2f} s a step in the first epoch, {statistics.median(second):.2f} s in the second "
          f"(predicted {r['predicted_ms_per_step'] / 1e3:.2f} s; {r['processor_share']:.0%} of the processors)\n{said}", flush=True)


def line(program, models, sides, limit=1_000_000_000, count=6):
    model = smolvlm(models)
    with tempfile.TemporaryDirectory() as name:
        data = pathlib.Path(name)
        make_data(data, count + 1)  # one of them validates
        if sides != "theirs":
            our_line(program, model, data, limit, count)
        for dtype, again in (("float32", "no"), ("bfloat16", "no"), ("bfloat16", "yes")) if sides != "ours" else ():
            out = subprocess.run([sys.executable, "-c", PEFT, str(model), str(data), dtype, again, str(CONTEXT), str(TEXT), str(SMOLVLM["image_token_id"])],
                                 capture_output=True, text=True, check=True).stdout.split()
            print(f"  peft {dtype}{', checkpointing' if again == 'yes' else ''}: {statistics.median(map(float, out[1:-1])):.2f} s a step, "
                  f"process {int(out[-1]) / 1e6:.0f} MB", flush=True)


# A list of rows, pictures opened by PIL for every sample, as such loops are usually written; steps of a small tower.
LOOP = """
import json, sys, time, torch, transformers
from PIL import Image
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
folder, workers, epochs, image = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
processor = Idefics3ImageProcessorPil(**json.load(open(folder + "/model/preprocessor_config.json")))
net = transformers.Idefics3ForConditionalGeneration.from_pretrained(folder + "/model", dtype=torch.float32)
for name, p in net.named_parameters():
    p.requires_grad_("text_model" in name)
class Rows(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        row = self.rows[i]
        with Image.open(folder + "/pictures/" + row["image"]) as opened:
            pixels = torch.tensor(processor(images=[opened.convert("RGB")])["pixel_values"][0])
        ids = [image] * (4 * pixels.shape[0]) + list(row["response"].encode())
        return {"pixel_values": pixels, "input_ids": torch.tensor(ids)}
rows = [json.loads(line) for line in open(folder + "/rows.jsonl")]
cut = len(rows) * 9 // 10
loaders = [torch.utils.data.DataLoader(Rows(part), batch_size=None, shuffle=shuffle, num_workers=workers) for part, shuffle in ((rows[:cut], True), (rows[cut:], False))]
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=2e-4)
def loss_of(sample):
    ids = sample["input_ids"][None]
    return net(input_ids=ids, pixel_values=sample["pixel_values"][None], labels=ids).loss
for epoch in range(epochs):
    net.train()
    for sample in loaders[0]:
        loss_of(sample).backward()
        optimizer.step()
        optimizer.zero_grad()
    net.eval()
    with torch.no_grad():
        for sample in loaders[1]:
            loss_of(sample)
"""


def resident_of_tree(pid):
    """Pages of the process and its descendants, those they share counted once, as far as the kernel says."""
    total, left = 0, [pid]
    while left:
        one = left.pop()
        try:
            left += [int(child) for task in pathlib.Path(f"/proc/{one}/task").iterdir() for child in (task / "children").read_text().split()]
            total += 1024 * int(pathlib.Path(f"/proc/{one}/smaps_rollup").read_text().split("Pss:")[1].split()[0])
        except (OSError, IndexError):
            continue
    return total


def curve(arguments):
    """(seconds, bytes) of a process tree until it ends, and its output."""
    began, points = time.monotonic(), []
    process = subprocess.Popen(list(map(str, arguments)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    while process.poll() is None:
        points.append((time.monotonic() - began, resident_of_tree(process.pid)))
        time.sleep(0.2)
    if process.returncode:
        sys.exit(f"code {process.returncode}: {arguments}")
    return [(t, size) for t, size in points if size], process.stdout.read()


def plot(curves, path):
    """Memory over the share of each run's time, as SVG."""
    width, height, left, top = 760, 300, 60, 20
    most = 1.1 * max(size for points in curves.values() for _, size in points)
    colours = ["#1f77b4", "#d62728", "#ff7f0e", "#2ca02c"]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {top + height + 60}" font-family="sans-serif" font-size="12">',
           '<title>Memory of five epochs over pictures</title><rect width="100%" height="100%" fill="white"/>']
    for tick in range(0, int(most / 1e6) + 1, 200):
        y = top + height - height * tick * 1e6 / most
        out.append(f'<line x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/><text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick} MB</text>')
    for i, (name, points) in enumerate(curves.items()):
        end, step = points[-1][0], max(1, len(points) // 400)
        line = " ".join(f"{left + width * t / end:.1f},{top + height - height * size / most:.1f}" for t, size in points[::step])
        out.append(f'<polyline points="{line}" fill="none" stroke="{colours[i % 4]}" stroke-width="1.5"/>')
        out.append(f'<rect x="{left + 250 * i}" y="{top + height + 34}" width="12" height="12" fill="{colours[i % 4]}"/>'
                   f'<text x="{left + 250 * i + 18}" y="{top + height + 45}">{name}</text>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 20}" text-anchor="middle">share of the run: five epochs with a validation after each</text></svg>')
    pathlib.Path(path).write_text("\n".join(out) + "\n")


def flat_run(program, folder, count, epochs):
    """Ours: says what it came to, and returns its curve. The cache holds fewer tiles than there are, so that every epoch decodes."""
    trained, out = count * 9 // 10, folder / "run"
    shutil.rmtree(out, ignore_errors=True)
    record = folder / "watch.db"
    record.unlink(missing_ok=True)
    points, said = curve([program, "watch", "--json", "--interval", "100ms", "--out", record, "--", program, "train", "--model", folder / "model", "--data", folder / "rows.jsonl", "--images",
                          folder / "pictures", "--context", 96, "--batch", 1, "--lora-rank", 4, "--loaders", 3, "--image-buffer", "64MB", "--image-cache",
                          "2MB", "--iterations", epochs * trained, "--eval-every", trained, "--eval-batches", count - trained, "--sample-every", 0,
                          "--checkpoint-every", trained, "--out", out, "--json"])
    told = [json.loads(text) for text in said.splitlines() if text.startswith("{")]
    r, verdict = told[0], told[-1]["verdict"]
    print(f"{count} pictures, {epochs} epochs, {r['iterations']} steps: plan {r['plan_bytes'] / 1e6:.1f} MB, after warm-up {r['rss_after_warmup_bytes'] / 1e6:.2f} MB, "
          f"at the end {r['rss_end_bytes'] / 1e6:.2f} MB, peak {r['peak_rss_bytes'] / 1e6:.2f} MB ({r['peak_rss_bytes'] / r['plan_bytes'] - 1:+.1%} of the plan), "
          f"{r['allocations_after_warmup']} allocations after warm-up, watch says {verdict}, {r['pictures']['waiting_share']:.1%} of the time waiting", flush=True)
    return points


def flat(program, models, sides, count=1800, epochs=5):
    folder = pathlib.Path(models) / f"flat-{count}"
    if not folder.exists():
        import numpy
        folder.mkdir(parents=True)
        make_tiny(folder / "model")
        (folder / "pictures").mkdir()
        rng = numpy.random.default_rng(4)
        with open(folder / "rows.jsonl", "w") as rows:
            for i in range(count):
                data, extension = pictures.make(pictures.KINDS[i % len(pictures.KINDS)], rng, *map(int, rng.integers(60, 500, 2)))
                (folder / "pictures" / f"{i}.{extension}").write_bytes(data)
                rows.write(json.dumps({"text": "what?", "image": f"{i}.{extension}", "response": f"it is {i % 7}"}) + "\n")
    # Sides may be measured one after another; the plot has all that is known.
    known = folder / "curves.json"
    curves = json.loads(known.read_text()) if known.exists() else {}
    if sides != "theirs":
        curves["plimsoll, 3 loaders, under watch"] = flat_run(program, folder, count, epochs)
    for workers in (0, 2) if sides != "ours" else ():
        name = f"PyTorch + PIL, {workers} workers"
        curves[name], _ = curve([sys.executable, "-c", LOOP, folder, workers, epochs, IMAGE])
        sizes = [size for _, size in curves[name]]
        later = sizes[len(sizes) // 5:]
        print(f"{name}: peak {max(sizes) / 1e6:.0f} MB, {min(later) / 1e6:.0f} to {max(later) / 1e6:.0f} MB after the first epoch", flush=True)
        known.write_text(json.dumps(curves))
    known.write_text(json.dumps(curves))
    plot(curves, pathlib.Path(models) / "rss.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("line", "flat"))
    parser.add_argument("program", help="the plimsoll to measure")
    parser.add_argument("folder", help="where models and pictures are or will be made")
    parser.add_argument("--sides", choices=("both", "ours", "theirs"), default="both")
    options = parser.parse_args()
    (line if options.what == "line" else flat)(options.program, options.folder, options.sides)


if __name__ == "__main__":
    main()
