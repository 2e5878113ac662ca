"""Pictures of many sizes, modes and formats, made from a seed; needs Pillow and NumPy."""
import io

import numpy
from PIL import Image


def pixels(rng, height, width, channels):
    """A picture with edges, gradients and noise, so that filters have something to do."""
    y, x = numpy.mgrid[0:height, 0:width]
    out = numpy.zeros((height, width, channels))
    for c in range(channels):
        a, b, phase = rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), rng.uniform(0, 6)
        out[..., c] = 127 + 90 * numpy.sin(a * x + b * y + phase)
    top, left = rng.integers(0, height), rng.integers(0, width)
    out[top:, left:] = 255 - out[top:, left:]
    out += rng.normal(0, 12, out.shape)
    return numpy.clip(out, 0, 255).astype(numpy.uint8)


def exif(orientation):
    data = Image.Exif()
    data[0x0112] = orientation
    return data.tobytes()


def make(kind, rng, height, width):
    """The bytes of a file and its extension."""
    out = io.BytesIO()
    rgb = Image.fromarray(pixels(rng, height, width, 3))
    turned = {"exif": exif(int(rng.integers(1, 9)))}
    quality = int(rng.integers(20, 96))
    subsampling = int(rng.integers(0, 3))
    jpeg = {"format": "JPEG", "quality": quality, "subsampling": subsampling}
    if kind == "jpeg":
        rgb.save(out, **jpeg)
    elif kind == "jpeg-progressive":
        rgb.save(out, progressive=True, **jpeg)
    elif kind == "jpeg-grey":
        rgb.convert("L").save(out, format="JPEG", quality=quality)
    elif kind == "jpeg-cmyk":
        rgb.convert("CMYK").save(out, format="JPEG", quality=quality)
    elif kind == "jpeg-turned":
        rgb.save(out, **jpeg, **turned)
    elif kind == "jpeg-restart":
        rgb.save(out, restart_marker_blocks=3, **jpeg)
    elif kind == "png":
        rgb.save(out, format="PNG")
    elif kind == "png-turned":
        rgb.save(out, format="PNG", **turned)
    elif kind == "png-alpha":
        Image.fromarray(pixels(rng, height, width, 4)).save(out, format="PNG")
    elif kind == "png-grey":
        rgb.convert("L").save(out, format="PNG")
    elif kind == "png-grey-alpha":
        Image.fromarray(pixels(rng, height, width, 2), "LA").save(out, format="PNG")
    elif kind == "png-one-bit":
        rgb.convert("1").save(out, format="PNG")
    elif kind == "png-palette":
        colours = int(rng.choice([2, 4, 16, 200]))
        rgb.quantize(colours).save(out, format="PNG")
    elif kind == "png-palette-transparent":
        rgb.quantize(100).save(out, format="PNG", transparency=bytes(rng.integers(0, 256, 90, dtype=numpy.uint8)))
    elif kind == "png-colour-key":
        key = tuple(int(v) for v in numpy.asarray(rgb)[0, 0])
        rgb.save(out, format="PNG", transparency=key)
    elif kind == "webp":
        rgb.save(out, format="WEBP", quality=quality)
    elif kind == "webp-lossless":
        rgb.save(out, format="WEBP", lossless=True)
    elif kind == "webp-alpha":
        Image.fromarray(pixels(rng, height, width, 4)).save(out, format="WEBP", quality=quality)
    elif kind == "webp-lossless-alpha":
        Image.fromarray(pixels(rng, height, width, 4)).save(out, format="WEBP", lossless=True)
    elif kind == "webp-turned":
        rgb.save(out, format="WEBP", lossless=True, **turned)
    else:
        raise ValueError(kind)
    return out.getvalue(), {"j": "jpg", "p": "png", "w": "webp"}[kind[0]]


KINDS = ["jpeg", "jpeg-progressive", "jpeg-grey", "jpeg-cmyk", "jpeg-turned", "jpeg-restart", "png", "png-turned",
         "png-alpha", "png-grey", "png-grey-alpha", "png-one-bit", "png-palette", "png-palette-transparent",
         "png-colour-key", "webp", "webp-lossless", "webp-alpha", "webp-lossless-alpha", "webp-turned"]
