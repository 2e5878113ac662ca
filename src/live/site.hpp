// Serves fixed paths over one record, followed while it grows. No part of a request reaches the file system.
#pragma once
#include <filesystem>
#include <string>

#include "live/access.hpp"

namespace plimsoll::live {

// Serves what a companion is told over `control` (one message: + or - and the path of a record; - removes its folder
// at the end) until that is closed.
void serve_followed(const Listening& listening, const std::string& token, int control);

// Serves `record`, finished or growing, until `stop` becomes readable.
void serve_record(const Listening& listening, const std::string& token, const std::filesystem::path& record,
                  int stop);

}  // namespace plimsoll::live
