// The files a path names.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll {

// The path itself or, of a folder, its regular files in order of their names. InputError for a folder that cannot be
// read, has none or too many.
std::vector<std::string> files_of(const std::string& path);
// Of those that can be looked at.
uint64_t total_bytes(const std::vector<std::string>& files);

}  // namespace plimsoll
