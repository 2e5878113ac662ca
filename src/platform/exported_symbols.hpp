// Addresses of exported symbols in an ELF file, by name.
#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace plimsoll::platform {

// Fills in the address of every name, as in the file, and the address at which the file wants its beginning mapped. False
// where one is missing or this is no such file. The file is not trusted.
bool find_exported(const std::string& path, std::map<std::string, uint64_t>& wanted, uint64_t& first);

}  // namespace plimsoll::platform
