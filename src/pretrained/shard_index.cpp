#include "pretrained/shard_index.hpp"

#include <set>

#include "base/error.hpp"
#include "base/json.hpp"
#include "checkpoint/safetensors.hpp"

namespace plimsoll {
namespace {

using nlohmann::json;
constexpr size_t most_shards = 1000, most_tensors = 100'000;

// Takes the map off the parser as it comes: nothing else of the file is kept.
class IndexReader : public nlohmann::json_sax<json> {
 public:
  ShardIndex take() {
    if (!has_map_) fail_input("it has no 'weight_map'");
    if (index_.file_of.empty()) fail_input("its 'weight_map' is empty");
    index_.files.assign(files_.begin(), files_.end());
    return std::move(index_);
  }

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(int64_t) override { return other(); }
  bool number_unsigned(uint64_t) override { return other(); }
  bool number_float(double, const std::string&) override { return other(); }
  bool binary(json::binary_t&) override { return other(); }
  bool start_array(size_t) override { return other() && ++depth_; }
  bool end_array() override { return depth_--, true; }
  bool start_object(size_t) override {
    if (depth_ == 1 && key_ == map_name) {
      if (has_map_) fail_input("it has two 'weight_map'");
      in_map_ = has_map_ = true;
    } else if (depth_ > 0) {
      other();
    }
    return ++depth_;
  }
  bool end_object() override {
    if (--depth_ == 1) in_map_ = false;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1 || in_map_) key_ = std::move(name);
    return true;
  }
  bool string(std::string& file) override {
    if (!in_map_) return other();
    if (file.empty() || file.find('/') != file.npos || file.find('\0') != file.npos || file[0] == '.')
      fail_input("'{}' is in '{}', which is no file of the folder", shown(key_), shown(file));
    files_.insert(file);
    if (files_.size() > most_shards) fail_input("it names more than {} files", most_shards);
    if (!index_.file_of.emplace(key_, std::move(file)).second) fail_input("it has '{}' twice", shown(key_));
    if (index_.file_of.size() > most_tensors) fail_input("it names more than {} tensors", most_tensors);
    return true;
  }
  bool parse_error(size_t position, const std::string&, const json::exception&) override {
    fail_input("it is not valid JSON (byte {})", position);
  }

 private:
  static constexpr const char* map_name = "weight_map";

  // A value that is not the name of a file.
  bool other() const {
    if (in_map_) fail_input("'{}' names no file", shown(key_));
    if (depth_ == 0) fail_input("it is not a JSON object");
    if (depth_ == 1 && key_ == map_name) fail_input("its 'weight_map' is not an object");
    return true;
  }

  ShardIndex index_;
  std::set<std::string> files_;
  std::string key_;
  int depth_ = 0;
  bool in_map_ = false, has_map_ = false;
};

}  // namespace

ShardIndex parse_shard_index(std::string_view text) {
  if (nests_deeper(text)) fail_input("it nests deeper than {} brackets", deepest_json);
  IndexReader reader;
  json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace plimsoll
