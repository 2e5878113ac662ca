// What a stack shows of the memory it allocated, by the functions that were called: nodes of PyTorch's graph, a cache of
// compiled kernels, a decoded image; and in what kind of process.
#pragma once
#include <vector>

#include "diagnose/places.hpp"

namespace plimsoll::diagnose {

enum class Content {
  plain,
  autograd_node,  // allocated by torch::autograd itself: part of a graph, not of a tensor
  kernel_cache,   // oneDNN's cache of compiled kernels: one for each shape, 1,024 at most
  decoded_image,  // by a decoder: libjpeg, libpng, libwebp, Pillow, OpenCV, torchvision
};
Content content_of(const std::vector<Place>& stack);  // innermost first

enum class Worker { none, loader, other };  // loader: of a PyTorch DataLoader
Worker worker_of(const std::vector<Place>& stack);

}  // namespace plimsoll::diagnose
