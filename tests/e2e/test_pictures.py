"""plimsoll data pictures: tiles are those of the PIL image processor of transformers, byte for byte, on pictures of many sizes
and modes in every format; damaged, huge, missing and wrongly named files are refused in one line each."""

import zlib
import struct

from harness import LONG, Temporary, json, run, skip

try:
    import numpy
    from PIL import Image, ImageOps
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
except ImportError as missing:
    skip(f"needs numpy, Pillow and transformers ({missing})")

import pictures

TILE = 32
SETTINGS = {"do_image_splitting": True, "max_image_size": {"longest_edge": TILE}, "size": {"longest_edge": 4 * TILE}, "resample": 1,
            "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5], "rescale_factor": 1 / 255}
SIZES = [(1, 1), (1, 9), (40, 1), (31, 33), (32, 32), (33, 17), (64, 64), (100, 260), (257, 90), (300, 301), (500, 20)]


def expected(processor, path):
    """Tiles as bytes: the processor's values undone, which is exact."""
    with Image.open(path) as image:
        image = ImageOps.exif_transpose(image)
        found = processor(images=[image], return_row_col_info=True)
    values = numpy.asarray(found["pixel_values"][0])  # [tiles, 3, TILE, TILE]
    return values, numpy.rint((values * 0.5 + 0.5) * 255).astype(numpy.uint8).transpose(0, 2, 3, 1), found["rows"][0][0], found["cols"][0][0]


def check_tiles(folder, count):
    (folder / "model").mkdir()
    (folder / "model" / "preprocessor_config.json").write_text(json.dumps(SETTINGS))
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    rng = numpy.random.default_rng(7)
    for i in range(count):
        kind = pictures.KINDS[i % len(pictures.KINDS)]
        height, width = SIZES[i // len(pictures.KINDS)] if i // len(pictures.KINDS) < len(SIZES) else rng.integers(1, 400, 2)
        data, extension = pictures.make(kind, rng, int(height), int(width))
        (folder / "in" / f"{i:04}-{kind}.{extension}").write_bytes(data)
    told = run(folder, "data", "pictures", "in", "--model", "model", "--out", "out", "--json").json()["pictures"]
    assert len(told) == count
    processor = Idefics3ImageProcessorPil(**SETTINGS)
    unequal = {}
    for row in told:
        path = folder / row["file"]
        values, wanted, rows, columns = expected(processor, path)
        assert (row["rows"], row["columns"], row["tiles"]) == (rows, columns, len(wanted)), (row, rows, columns, len(wanted))
        # What the tower sees of a byte, in the same precision.
        scaled = (wanted.astype(numpy.float64) * (1 / 255)).astype(numpy.float32)
        assert ((scaled - numpy.float32(0.5)) / numpy.float32(0.5)).transpose(0, 3, 1, 2).tobytes() == values.tobytes()
        for n, tile in enumerate(wanted):
            made = numpy.asarray(Image.open(folder / "out" / f"{path.name}.{n + 1}.ppm"))
            if (made != tile).any():
                off = numpy.abs(made.astype(int) - tile)
                unequal.setdefault(path.name, []).append(int(off.max()))
    assert not unequal, unequal
    print(f"{count} pictures, {sum(row['tiles'] for row in told)} tiles equal")


def png(width, height, colour=2, depth=8, data=b""):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def check_refusals(folder):
    rng = numpy.random.default_rng(1)
    good = {name: pictures.make(name, rng, 40, 50)[0] for name in ("jpeg", "jpeg-progressive", "png", "webp", "webp-lossless")}
    bad = folder / "bad"
    bad.mkdir()
    cases = {"empty.png": (b"", "it is empty"), "text.jpg": (b"not a picture at all", "not a picture"),
             "bomb.png": (png(60000, 60000), "60000 x 60000"), "flat.png": (png(0, 5), "no pixels"), "stub.png": (png(9, 9)[:20], "header is missing"),
             "lies.png": (png(500, 500, data=b"\0\1\2"), "damaged PNG")}
    for name, data in good.items():
        cases[f"half-{name}.{dict(j='jpg', p='png', w='webp')[name[0]]}"] = (data[:len(data) // 2], "damaged")
    for name, (data, _) in cases.items():
        (bad / name).write_bytes(data)
    told = {row["file"].split("/")[-1]: row["problem"] for row in run(folder, "data", "pictures", "bad", "--json", expect=2).json()["pictures"]}
    for name, (_, words) in cases.items():
        assert words in told.get(name, ""), (name, words, told)
    (bad / "misnamed.jpg").write_bytes(good["png"])  # what it is, not what it is called
    assert run(folder, "data", "pictures", "bad/misnamed.jpg", "--json").json()["pictures"][0]["format"] == "PNG"
    missing = run(folder, "data", "pictures", "bad/none.png", expect=2)
    assert "none.png" in missing.out + missing.err and len((missing.out + missing.err).strip().splitlines()) == 1, missing
    # 16 bits of grey: the high byte, where Pillow clips everything above 255 to white.
    deep = [[0x0012, 0x34ff], [0xffee, 0x8000]]
    (bad / "grey16.png").write_bytes(png(2, 2, colour=0, depth=16, data=b"".join(b"\0" + struct.pack(">HH", *row) for row in deep)))
    (folder / "look").mkdir()
    (folder / "same").mkdir()
    (folder / "same" / "preprocessor_config.json").write_text(json.dumps(
        {"do_resize": False, "do_image_splitting": False, "size": {"longest_edge": 2}, "max_image_size": {"longest_edge": 2}}))
    run(folder, "data", "pictures", "bad/grey16.png", "--model", "same", "--out", "look")
    seen = numpy.asarray(Image.open(folder / "look" / "grey16.png.1.ppm"))
    assert (seen == numpy.array([[0x00, 0x34], [0xff, 0x80]])[..., None]).all(), seen


def check_mutants(folder, count):
    """Whatever the bytes: decoded or refused, and never more memory than the largest header asks for."""
    rng = numpy.random.default_rng(3)
    for name in ("jpeg", "jpeg-progressive", "png-palette", "png", "webp", "webp-lossless-alpha"):
        many = folder / f"mutants-{name}"
        many.mkdir()
        data, extension = pictures.make(name, rng, 60, 80)
        for i in range(count):
            mutant = bytearray(data)
            for _ in range(int(rng.integers(1, 12))):
                mutant[int(rng.integers(0, len(mutant)))] = int(rng.integers(0, 256))
            if i % 5 == 0:
                del mutant[int(rng.integers(1, len(mutant))):]
            (many / f"{i:03}.{extension}").write_bytes(mutant)
        done = run(folder, "data", "pictures", many.name, "--json", expect=None)
        assert done.code in (0, 2), done
        told = done.json()["pictures"]
        assert len(told) == count and all("problem" in row or row["memory"] > 0 for row in told)
        refused = sum("problem" in row for row in told)
        # A PNG has checksums: nearly all are noticed. The others are decoded as far as they make sense.
        assert refused > (0.8 * count if name.startswith("png") else 0) and (name.startswith("png") or refused < count), (name, refused)


def main():
    with Temporary() as temporary:
        check_tiles(temporary.path, 800 if LONG else 300)
        check_refusals(temporary.path)
        check_mutants(temporary.path, 500 if LONG else 100)


if __name__ == "__main__":
    main()
