// Writes and parses the JSON header of the safetensors format. Parsing is event-based, so a malicious header
// costs no more memory than its own entries and no stack.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.hpp"
#include "checkpoint/safetensors.hpp"

namespace plimsoll {
namespace {

constexpr size_t largest_rank = 16;

// Bytes an element takes, 0 for an unknown dtype.
uint64_t element_bytes(std::string_view dtype) {
  struct Known {
    std::string_view name;
    uint64_t bytes;
  };
  static constexpr Known known[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
                                    {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                                    {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  for (const Known& each : known)
    if (each.name == dtype) return each.bytes;
  return 0;
}

// False when the size does not fit 63 bits.
bool product(std::span<const int64_t> shape, uint64_t element, uint64_t& bytes) {
  uint64_t total = element;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(total, static_cast<uint64_t>(extent), &total)) return false;
  bytes = total;
  return total <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
}

// Receives the parser's events; anything but {name: {dtype, shape, data_offsets}, "__metadata__": {text:
// text}} throws.
class HeaderEvents {
 public:
  SafetensorsHeader header;

  bool null() { return refuse("a null"); }
  bool boolean(bool) { return refuse("a boolean"); }
  bool number_integer(int64_t) { return refuse("a negative number"); }
  bool number_float(double, const std::string&) { return refuse("a fraction or a number too large"); }
  bool binary(std::vector<uint8_t>&) { return refuse("binary data"); }
  bool number_unsigned(uint64_t value) {
    if (where_ == Where::shape) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return refuse("a number too large");
      if (entry().shape.size() == largest_rank)
        fail_input("tensor '{}' has more than {} dimensions", shown(entry().name), largest_rank);
      entry().shape.push_back(static_cast<int64_t>(value));
    } else if (where_ == Where::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? entry().begin : entry().end) = value;
    } else {
      return refuse("a number");
    }
    return true;
  }
  bool string(std::string& value) {
    if (where_ == Where::metadata)
      header.metadata[key_] = value;
    else if (where_ == Where::tensor && key_ == "dtype")
      entry().dtype = value;
    else
      return refuse("a text");
    return true;
  }
  bool start_object(size_t) {
    if (where_ == Where::before) {
      where_ = Where::root;
    } else if (where_ == Where::root && key_ == "__metadata__") {
      where_ = Where::metadata;
    } else if (where_ == Where::root) {
      where_ = Where::tensor;
      header.tensors.push_back({});
      entry().name = key_;
      has_dtype_ = has_shape_ = has_offsets_ = false;
    } else {
      return refuse("an object");
    }
    return true;
  }
  bool end_object() {
    if (where_ == Where::tensor && !(has_dtype_ && has_shape_ && has_offsets_))
      fail_input("tensor '{}' lacks dtype, shape or data_offsets", shown(entry().name));
    where_ = where_ == Where::root ? Where::after : Where::root;
    return true;
  }
  bool start_array(size_t) {
    if (where_ != Where::tensor || (key_ != "shape" && key_ != "data_offsets")) return refuse("a list");
    where_ = key_ == "shape" ? Where::shape : Where::offsets;
    offsets_ = 0;
    return true;
  }
  bool end_array() {
    if (where_ == Where::offsets && offsets_ != 2)
      fail_input("data_offsets of tensor '{}' are not two numbers", shown(entry().name));
    where_ = Where::tensor;
    return true;
  }
  bool key(std::string& name) {
    key_ = name;
    if (where_ == Where::root) {
      if (!names_.insert(name).second) fail_input("name '{}' occurs twice", shown(name));
    } else if (where_ == Where::metadata) {
      if (header.metadata.count(name)) fail_input("metadata '{}' occurs twice", shown(name));
    } else {
      bool* has = name == "dtype"          ? &has_dtype_
                  : name == "shape"        ? &has_shape_
                  : name == "data_offsets" ? &has_offsets_
                                           : nullptr;
      if (!has) fail_input("tensor '{}' has an unknown field '{}'", shown(entry().name), shown(name));
      if (*has) fail_input("tensor '{}' has {} twice", shown(entry().name), name);
      *has = true;
    }
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) {
    fail_input("the header is not valid JSON (byte {})", position);
  }

 private:
  enum class Where { before, root, metadata, tensor, shape, offsets, after };

  SafetensorsEntry& entry() { return header.tensors.back(); }
  [[noreturn]] bool refuse(const char* what) const {
    if (where_ == Where::before) fail_input("the header is {}, not a JSON object", what);
    fail_input("the header has {} in a wrong place, at '{}'", what, shown(key_));
  }

  Where where_ = Where::before;
  std::string key_;
  std::unordered_set<std::string> names_;
  int offsets_ = 0;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
};

void check_ranges(const SafetensorsHeader& header, uint64_t data_bytes) {
  uint64_t reached = 0;
  for (const SafetensorsEntry& tensor : header.tensors) {
    std::string name = shown(tensor.name);
    uint64_t element = element_bytes(tensor.dtype), bytes = 0;
    if (!element) fail_input("tensor '{}' has the unknown dtype '{}'", name, shown(tensor.dtype));
    if (!product(tensor.shape, element, bytes)) fail_input("the shape of tensor '{}' overflows", name);
    if (tensor.end < tensor.begin || tensor.end > data_bytes)
      fail_input("tensor '{}' lies at bytes {} to {} of {}", name, tensor.begin, tensor.end, data_bytes);
    if (tensor.bytes() != bytes)
      fail_input("tensor '{}' has {} bytes where its shape needs {}", name, tensor.bytes(), bytes);
    if (tensor.begin < reached) fail_input("tensor '{}' overlaps another", name);
    if (tensor.begin > reached)
      fail_input("there is a gap of {} bytes before tensor '{}'", tensor.begin - reached, name);
    reached = tensor.end;
  }
  if (reached != data_bytes) fail_input("the last {} bytes belong to no tensor", data_bytes - reached);
}

}  // namespace

const char* safetensors_name(DType dtype) {
  constexpr const char* names[dtype_count] = {"F32", "BF16", "F16", "I32", "U8"};
  return names[static_cast<int>(dtype)];
}

uint64_t tensor_bytes(std::span<const int64_t> shape, DType dtype) {
  uint64_t bytes = 0;
  if (!product(shape, size_of(dtype), bytes))
    fail_input("a tensor of shape [{}] is too large", fmt::join(shape, ", "));
  return bytes;
}

std::string shown(std::string_view name) {
  constexpr size_t longest = 64;
  std::string text(name.substr(0, longest));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return name.size() > longest ? text + "..." : text;
}

std::string make_safetensors_header(std::span<const TensorView> tensors) {
  // "format" is what other readers look for to know that tensors are row-major and plainly named.
  std::string json = R"({"__metadata__":{"format":"pt"})";
  std::unordered_set<std::string_view> names;
  uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    bool plain = std::all_of(tensor.name.begin(), tensor.name.end(),
                             [](char c) { return c > 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    if (!plain || tensor.name.empty() || tensor.name == "__metadata__")
      fail_input("'{}' cannot be a tensor's name; use printable ASCII without quotes", shown(tensor.name));
    if (!names.insert(tensor.name).second) fail_input("two tensors are named '{}'", tensor.name);
    uint64_t end = offset + tensor_bytes(tensor.shape, tensor.dtype);
    json += fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", tensor.name,
                        safetensors_name(tensor.dtype), fmt::join(tensor.shape, ","), offset, end);
    offset = end;
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string header(8, '\0');
  for (size_t i = 0; i < 8; ++i) header[i] = static_cast<char>(uint64_t{json.size()} >> (8 * i));
  return header + json;
}

SafetensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes) {
  if (json.empty() || json.front() != '{') fail_input("the header does not begin with '{{'");
  // The parser takes a zero byte for the end of its input and would not look at what follows.
  if (size_t zero = json.find('\0'); zero != json.npos)
    fail_input("the header is not valid JSON (byte {})", zero);
  HeaderEvents events;
  nlohmann::json::sax_parse(json.begin(), json.end(), &events);
  SafetensorsHeader header = std::move(events.header);
  // Stable, because empty tensors may share an offset and then keep the order they were written in.
  std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_ranges(header, data_bytes);
  return header;
}

}  // namespace plimsoll
