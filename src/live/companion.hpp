// Serves a run while it is in progress. A small separate process reads the record of the run and answers requests; the
// run only writes that record, as it does anyway. No client can cost the run memory, an allocation, a lock, or end it.
//
//   live::Companion server(options.serve);       // first: before threads and before much memory
//   say(server.url());
//   …
//   server.follow(folder / "run.db");            // once the record is there
//   …                                            // ends with this object, or with this process however it ends
#pragma once
#include <filesystem>
#include <string>

#include "live/access.hpp"

namespace plimsoll::live {

class Companion {
 public:
  // Does nothing where serving is not wanted. InputError where the address is wrong or cannot be had.
  explicit Companion(const ServeOptions& options);
  ~Companion();  // lets readers see the end of the record, then ends the serving
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  bool serving() const { return control_ >= 0; }
  const std::string& url() const { return url_; }  // empty: not serving
  // From now on this record is shown. With `remove_after` its whole folder goes away with the serving.
  void follow(const std::filesystem::path& record, bool remove_after = false);

 private:
  int control_ = -1;  // our end of a socket pair; its closing is the end
  std::string url_;
};

// A record for those who keep none: its path in a fresh temporary folder.
std::filesystem::path temporary_record();

}  // namespace plimsoll::live
