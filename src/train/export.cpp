#include "train/export.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "checkpoint/load.hpp"
#include "model/families.hpp"
#include "tensor/half.hpp"
#include "train/model_spec.hpp"
#include "train/new_folder.hpp"
#include "train/own_vision.hpp"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t largest_copied = 64'000'000;
constexpr const char* index_name = "model.safetensors.index.json";

// The trained parameters of a run's checkpoint, in f32.
class Learned {
 public:
  explicit Learned(const SavedModel& run) {
    const Settings& settings = run.state.settings;
    if ((settings.model.empty() && settings.vision.empty()) || !run.checkpoint)
      fail_input(
          "this run did not start from a published model; only one begun with --model or --vision can be "
          "exported");
    Graph graph;
    const auto model = make_model(graph, model_spec(settings, run.state.vocab));
    for (const Parameter& p : model->parameters()) {
      if (p.frozen) continue;
      const Value& value = graph[p.id];
      auto& data = tensors_[value.name];
      data.resize(size_t(value.type.elements()));
      TensorSlot slot{value.name, {}, data.data()};
      for (int i = 0; i < value.type.shape.rank(); ++i) slot.shape.push_back(value.type.shape[i]);
      slots_.push_back(std::move(slot));
    }
    load(*run.checkpoint, slots_);
  }
  const std::vector<TensorSlot>& slots() const { return slots_; }
  const std::vector<float>* find(const std::string& name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::vector<float>> tensors_;
  std::vector<TensorSlot> slots_;
};

// Modules of GPT-2 have a prefix in the programs that read adapters.
const char* module_prefix(const Pretrained& model) {
  return model.config.spec.family == "gpt2" ? "transformer." : "";
}

// What an expression matched, module by module: other programs match it against modules that hold others, too.
nlohmann::ordered_json matched_modules(const std::vector<TensorView>& tensors) {
  constexpr std::string_view outer = "base_model.model.";
  std::vector<std::string> modules;
  for (const TensorView& tensor : tensors)
    if (const size_t end = tensor.name.find(".lora_A"); end != tensor.name.npos)
      modules.push_back(tensor.name.substr(outer.size(), end - outer.size()));
  return modules;
}

nlohmann::ordered_json targets_json(const Pretrained& model, const std::string& targets) {
  // The vision tower has modules of the same names.
  if (model.config.pictures) {
    std::vector<std::string> text, tower;
    for (const std::string& name : target_names(model, targets))
      name.starts_with("tower.") ? tower.push_back(name.substr(6)) : text.push_back(name);
    const auto within = [](const char* part, const std::vector<std::string>& names) {
      return names.empty() ? "" : fmt::format(".*\\.{}\\.layers\\..*\\.(?:{})", part, fmt::join(names, "|"));
    };
    return within("text_model", text) + (text.empty() || tower.empty() ? "" : "|") +
           within("vision_model\\.encoder", tower);
  }
  return target_names(model, targets);
}

// W with what the adapter adds: rows [first, first + count) of a matrix stored as [out, in], or as [in, out].
void add_adapter(std::span<float> rows, int64_t first, int64_t width, const std::vector<float>& a,
                 const std::vector<float>& b, int64_t rank, float scale, bool transposed) {
  const auto count = int64_t(rows.size()) / width;
  for (int64_t r = 0; r < count; ++r) {
    float* row = rows.data() + r * width;
    for (int64_t k = 0; k < rank; ++k) {
      // A is [rank, in], B is [out, rank].
      const float factor = scale * (transposed ? b[size_t((first + r) * rank + k)]
                                               : a[size_t(k * int64_t(a.size()) / rank + first + r)]);
      for (int64_t i = 0; i < width; ++i)
        row[i] += factor * (transposed ? a[size_t(k * width + i)] : b[size_t(i * rank + k)]);
    }
  }
}

// Writes the tensors of one published file, changed where the run has changed them.
class MergedFile {
 public:
  MergedFile(const Pretrained& model, const Learned& learned, const Tuning& tuning,
             std::optional<DType> dtype)
      : model_(model), learned_(learned), tuning_(tuning), dtype_(dtype) {}

  void write(NewFolder& folder, size_t file) {
    const fs::path path = model_.weights.files()[file];
    const std::string name = path.filename().string();
    std::vector<TensorView> tensors;
    for (const auto& part : model_.weights.parts(file))
      if (!part.name.empty()) tensors.push_back({part.entry.name, part.entry.shape, nullptr, to(part)});
    SafetensorsFile in(path);
    OutputFile out;
    folder.check(out.create(folder.open(), name.c_str()), name);
    const std::string header = make_safetensors_header(tensors);
    folder.check(out.write(header.data(), header.size()), name);
    for (const auto& part : model_.weights.parts(file)) {
      const int64_t width = part.entry.shape.empty() ? 1 : std::max<int64_t>(1, part.entry.shape.back());
      const int64_t rows = part.entry.bytes() ? int64_t(elements(part)) / width : 0;
      const int64_t at_once = std::max<int64_t>(1, (1 << 18) / width);
      for (int64_t first = 0; first < rows; first += at_once) {
        const int64_t count = std::min(at_once, rows - first);
        read(in, part, count * width);
        if (part.name.empty()) continue;  // a buffer no computation needs
        change(part, first, width);
        narrow_all(to(part));
        folder.check(out.write(written_.data(), written_.size()), name);
      }
    }
    folder.check(out.sync_and_close(), name);
  }

 private:
  using Part = PretrainedWeights::Part;
  DType from(const Part& part) const { return model_.weights[part.name].dtype; }
  DType to(const Part& part) const { return dtype_ ? *dtype_ : from(part); }
  static uint64_t elements(const Part& part) {
    uint64_t n = 1;
    for (int64_t d : part.entry.shape) n *= uint64_t(d);
    return n;
  }
  void read(SafetensorsFile& in, const Part& part, int64_t count) {
    const uint64_t each = part.entry.bytes() / elements(part);
    raw_.resize(size_t(count) * each);
    in.read(raw_.data(), raw_.size());
    if (part.name.empty()) return;
    values_.resize(size_t(count));
    for (int64_t i = 0; i < count; ++i) values_[size_t(i)] = widened(raw_.data(), from(part), i);
  }
  void change(const Part& part, int64_t first, int64_t width) {
    if (const auto* trained = learned_.find(part.name))
      std::copy_n(trained->begin() + first * width, values_.size(), values_.begin());
    constexpr std::string_view suffix = ".weight";
    if (!part.name.ends_with(suffix)) return;
    const std::string module = part.name.substr(0, part.name.size() - suffix.size());
    const auto *a = learned_.find(module + ".lora_A.weight"), *b = learned_.find(module + ".lora_B.weight");
    if (a && b)
      add_adapter(values_, first, width, *a, *b, tuning_.rank,
                  static_cast<float>(tuning_.alpha / double(tuning_.rank)),
                  model_.config.spec.family != "gpt2");
  }
  void narrow_all(DType dtype) {
    written_.resize(values_.size() * size_of(dtype));
    for (size_t i = 0; i < values_.size(); ++i) narrow(values_[i], written_.data(), dtype, int64_t(i));
  }

  const Pretrained& model_;
  const Learned& learned_;
  const Tuning tuning_;
  const std::optional<DType> dtype_;
  std::vector<std::byte> raw_, written_;
  std::vector<float> values_;
};

// config.json says in which dtype its readers hold the model.
std::string config_with_dtype(const std::string& text, DType dtype) {
  auto config = parse_json<nlohmann::ordered_json>(text);
  const char* name = dtype == DType::f32 ? "float32" : dtype == DType::bf16 ? "bfloat16" : "float16";
  for (const char* key : {"torch_dtype", "dtype"})
    if (config.contains(key)) config[key] = name;
  return config.dump(2) + "\n";
}

// The index of what is written: without copies and buffers that are left out.
std::string index_of_written(const std::string& text, const PretrainedWeights& weights,
                             std::optional<DType> dtype) {
  auto index = parse_json<nlohmann::ordered_json>(text);
  uint64_t total = 0;
  for (size_t file = 0; file < weights.files().size(); ++file)
    for (const auto& part : weights.parts(file)) {
      const uint64_t bytes = part.entry.bytes();
      if (part.name.empty())
        index["weight_map"].erase(part.entry.name);
      else
        total += dtype ? bytes / size_of(weights[part.name].dtype) * size_of(*dtype) : bytes;
    }
  if (index.contains("metadata") && index["metadata"].contains("total_size"))
    index["metadata"]["total_size"] = total;
  return index.dump(2) + "\n";
}

// Everything of the published folder but its weights: tokenizer, settings of generation, licence.
void copy_companions(const Pretrained& model, NewFolder& folder, std::optional<DType> dtype) {
  std::error_code error;
  const bool sharded = model.weights.files().front().filename() != "model.safetensors";
  for (const auto& entry : fs::directory_iterator(model.folder, error)) {
    const fs::path& path = entry.path();
    const std::string name = path.filename().string(), extension = path.extension().string();
    const bool weights = extension == ".safetensors" || extension == ".bin" || extension == ".pt" ||
                         extension == ".h5" || extension == ".gguf";
    if (!entry.is_regular_file(error) || weights || name[0] == '.' || entry.file_size(error) > largest_copied)
      continue;
    const std::string text = read_file(path, largest_copied);
    folder.write(name, name == "config.json" && dtype  ? config_with_dtype(text, *dtype)
                       : name == index_name && sharded ? index_of_written(text, model.weights, dtype)
                                                       : text);
  }
}

// A model that began from nothing has all it needs in the run.
void write_own(const SavedModel& run, const Learned& learned, const fs::path& path, DType dtype) {
  std::vector<TensorView> tensors;
  for (const TensorSlot& slot : learned.slots()) tensors.push_back({slot.name, slot.shape, nullptr, dtype});
  std::string weights = make_safetensors_header(tensors);
  for (const TensorSlot& slot : learned.slots()) {
    const std::vector<float>& values = *learned.find(slot.name);
    const size_t begin = weights.size();
    weights.resize(begin + values.size() * size_of(dtype));
    for (size_t i = 0; i < values.size(); ++i) narrow(values[i], weights.data() + begin, dtype, int64_t(i));
  }
  NewFolder folder(path);
  for (const auto& [name, text] : own_vision_files(run.state.settings, run.state.vocab))
    folder.write(name, name == "config.json" ? config_with_dtype(text, dtype) : text);
  folder.write("model.safetensors", weights);
  folder.finish();
}

}  // namespace

void export_peft(const SavedModel& run, const fs::path& path) {
  const Learned learned(run);
  const Settings& settings = run.state.settings;
  if (settings.lora_rank == 0)
    fail_input("this run trained no adapters; write the whole model with --merged DIR");
  const auto model = open_pretrained(settings.model);
  const Tuning tuned = tuning(settings);
  std::vector<TensorView> tensors;
  for (const TensorSlot& slot : learned.slots()) {
    if (slot.name.find(".lora_") == slot.name.npos)
      fail_input(
          "this run also trained {}, which an adapter cannot hold; write the whole model with --merged DIR",
          slot.name);
    tensors.push_back({fmt::format("base_model.model.{}{}", module_prefix(*model), slot.name), slot.shape,
                       slot.data, DType::f32});
  }
  const nlohmann::ordered_json config = {
      {"peft_type", "LORA"},
      {"task_type", "CAUSAL_LM"},
      {"base_model_name_or_path", fs::absolute(model->folder).lexically_normal().string()},
      {"r", tuned.rank},
      {"lora_alpha", tuned.alpha},
      {"lora_dropout", settings.lora_dropout},
      {"bias", "none"},
      {"target_modules", are_names(settings.lora_targets) ? targets_json(*model, settings.lora_targets)
                                                          : matched_modules(tensors)},
      {"fan_in_fan_out", model->config.spec.family == "gpt2"},
      {"inference_mode", true}};
  std::string weights = make_safetensors_header(tensors);
  for (const TensorView& tensor : tensors)
    weights.append(static_cast<const char*>(tensor.data), tensor_bytes(tensor.shape, tensor.dtype));
  NewFolder folder(path);
  folder.write("adapter_config.json", config.dump(2) + "\n");
  folder.write("adapter_model.safetensors", weights);
  folder.finish();
}

void export_merged(const SavedModel& run, const fs::path& path, std::optional<DType> dtype) {
  const Learned learned(run);
  const Settings& settings = run.state.settings;
  if (!settings.vision.empty()) return write_own(run, learned, path, dtype.value_or(DType::f32));
  const auto model = open_pretrained(settings.model);
  if (const ChecksumText found = model->weights.load({}); view(found) != run.state.base_checksum)
    fail_input("--model {}: its weights are not those this run began with (checksum {}, expected {})",
               settings.model, view(found), run.state.base_checksum);
  NewFolder folder(path);
  MergedFile file(*model, learned, tuning(settings), dtype);
  for (size_t i = 0; i < model->weights.files().size(); ++i) file.write(folder, i);
  copy_companions(*model, folder, dtype);
  folder.finish();
}

}  // namespace plimsoll
