// The files a path names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plimsoll {

// The path itself or, of a folder, its regular files in order of their names. InputError for a folder that cannot be
// read, has none or too many.
std::vector<std::string> files_of(const std::string& path);
// Of those that can be looked at.
uint64_t total_bytes(const std::vector<std::string>& files);

// InputError for a file that begins as one of no text does: compressed, a table, in UTF-16.
void refuse_other_kinds(const std::string& path, std::span<const unsigned char> content);

}  // namespace plimsoll
