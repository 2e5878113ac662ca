#include "diagnose/traits.hpp"

#include <algorithm>
#include <string_view>

namespace plimsoll::diagnose {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// What stands between a request for memory and who made it.
bool passes_on(const Place& place) {
  const std::string_view name = place.function;
  return name.empty() || name.starts_with("operator new") || name.starts_with("std::") ||
         name.starts_with("__gnu_cxx::") || contains(name, "> std::") || name.starts_with("void std::");
}

bool decodes_images(const Place& place) {
  if (place.python) return place.file.ends_with("/PIL/ImageFile.py") && contains(place.function, "load");
  const std::string_view name = std::string_view(place.file).substr(place.file.rfind('/') + 1);
  for (const std::string_view library : {"libjpeg", "libturbojpeg", "libpng", "libwebp", "_imaging."})
    if (name.starts_with(library)) return true;
  return contains(place.function, "cv::imdecode") || contains(place.function, "cv::imread") ||
         contains(place.function, "vision::image::decode");
}

}  // namespace

Content content_of(const std::vector<Place>& stack) {
  bool innermost = true;
  for (const Place& place : stack) {
    // From the first line of Python on, what is seen is who asked, not what was made.
    if (place.python && !decodes_images(place)) break;
    if (contains(place.function, "dnnl::impl::primitive_cache")) return Content::kernel_cache;
    if (decodes_images(place)) return Content::decoded_image;
    if (innermost && !passes_on(place)) {
      if (place.function.starts_with("torch::autograd::")) return Content::autograd_node;
      innermost = false;
    }
  }
  return Content::plain;
}

Worker worker_of(const std::vector<Place>& stack) {
  Worker worker = Worker::none;
  for (const Place& place : stack) {
    if (!place.python) continue;
    if (place.file.ends_with("/torch/utils/data/_utils/worker.py")) return Worker::loader;
    if (place.file.ends_with("/multiprocessing/process.py") && contains(place.function, "_bootstrap"))
      worker = Worker::other;
  }
  return worker;
}

}  // namespace plimsoll::diagnose
