#include "pretrained/pretrained.hpp"

#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "base/error.hpp"
#include "model/families.hpp"
#include "model/idefics3.hpp"

namespace plimsoll {
namespace {

constexpr std::string_view weight_suffix = ".weight", in_tower = "tower.";

std::string last_part(std::string_view module) {
  const size_t dot = module.rfind('.');
  return std::string(dot == module.npos ? module : module.substr(dot + 1));
}

std::string without_spaces(std::string name) {
  std::erase(name, ' ');
  return name;
}

bool named(std::string_view module, std::string_view name) {
  return module == name || (module.ends_with(name) && module[module.size() - name.size() - 1] == '.');
}

std::function<bool(std::string_view)> target_filter(const Pretrained& model, const std::string& targets) {
  std::set<std::string> chosen;
  const auto modules = adaptable_modules(model);
  if (are_names(targets)) {
    for (const std::string& name : target_names(model, targets)) {
      const size_t before = chosen.size();
      const bool tower = name.starts_with(in_tower);
      const std::string_view last = std::string_view(name).substr(tower ? in_tower.size() : 0);
      for (const std::string& module : modules)
        if ((vision_part(module) == "tower") == tower && named(module, last)) chosen.insert(module);
      if (chosen.size() == before)
        fail_input("lora_targets: '{}' names no module of this model; it has {}", name,
                   fmt::join(target_names(model, "all"), ", "));
    }
  } else {
    const re2::RE2 pattern(targets, re2::RE2::Quiet);
    if (!pattern.ok())
      fail_input(
          "lora_targets: '{}' is not a regular expression without look-around and back-references; give one, "
          "names "
          "separated by commas, or all",
          targets);
    // peft sees the modules of GPT-2 under a name of the whole.
    const std::string outer = model.config.spec.family == "gpt2" ? "transformer." : "";
    for (const std::string& module : modules)
      if (re2::RE2::FullMatch(module, pattern) || re2::RE2::FullMatch(outer + module, pattern))
        chosen.insert(module);
    if (chosen.empty())
      fail_input("lora_targets: '{}' matches no module; they are named like {}", targets, modules.back());
  }
  return
      [chosen = std::move(chosen)](std::string_view module) { return chosen.contains(std::string(module)); };
}

}  // namespace

std::vector<std::string> trained_parts(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(without_spaces(text.substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

std::shared_ptr<const Pretrained> open_pretrained(const std::string& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Pretrained>> opened;
  const std::lock_guard lock(mutex);
  auto& model = opened[folder];
  if (!model) {
    PretrainedConfig config = read_config(folder);
    PretrainedWeights weights(folder, config.spec);
    auto whole = std::make_shared<Pretrained>(Pretrained{folder, std::move(config), std::move(weights)});
    whole->stream = std::make_shared<WeightStream>(whole->weights);
    model = whole;
  }
  return model;
}

std::vector<std::string> adaptable_modules(const Pretrained& model) {
  Graph graph;
  const auto made = make_model(graph, model.config.spec);
  std::vector<std::string> modules;
  for (const Parameter& p : made->parameters()) {
    const std::string& name = graph[p.id].name;
    const bool tower = name.find("vision_model.encoder.layers.") != name.npos;
    if (p.kind == Parameter::Kind::matrix && (tower || p.block != no_block))
      modules.push_back(name.substr(0, name.size() - weight_suffix.size()));
  }
  return modules;
}

bool are_names(const std::string& targets) {
  return std::all_of(targets.begin(), targets.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == ',' || c == ' ';
  });
}

std::vector<std::string> target_names(const Pretrained& model, const std::string& targets) {
  std::vector<std::string> names;
  auto add = [&](std::string name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  };
  const auto add_all = [&](bool tower) {
    for (const std::string& module : adaptable_modules(model))
      if ((vision_part(module) == "tower") == tower)
        add((tower ? std::string(in_tower) : "") + last_part(module));
  };
  for (size_t at = 0; at <= targets.size();) {
    const size_t end = std::min(targets.find(',', at), targets.size());
    const std::string name = without_spaces(targets.substr(at, end - at));
    if (name.empty()) fail_input("lora_targets: '{}' has an empty name", targets);
    name == "all" ? add_all(false) : name == "tower.all" ? add_all(true) : add(name);
    at = end + 1;
  }
  return names;
}

ModelSpec adapted(const Pretrained& model, const Tuning& tuning) {
  ModelSpec spec = model.config.spec;
  using enum Tuning::What;
  if (tuning.context > spec.context)
    fail_input("context: {} tokens are more than the {} this model was made for; give --context {} or less",
               tuning.context, spec.context, spec.context);
  spec.context = tuning.context;
  if (tuning.what == adapters) {
    auto lora = std::make_shared<Lora>();
    lora->rank = tuning.rank;
    lora->scale = static_cast<float>(tuning.alpha / double(tuning.rank));
    lora->targets = target_filter(model, tuning.targets);
    spec.lora = lora;
  }
  if (!tuning.parts.empty() && !model.config.pictures)
    fail_input("train: this model has no parts; it goes with a vision-language model");
  if (tuning.what == last_blocks && tuning.last_blocks > spec.layers)
    fail_input("train_last: {} blocks are more than the {} this model has", tuning.last_blocks, spec.layers);
  const int64_t first = spec.layers - tuning.last_blocks;
  // Matrices that are not trained stay as the file has them; norms and biases are small, and their kernels take f32.
  if (tuning.stream) spec.source = model.stream;
  spec.storage = [&model, what = tuning.what, first, stream = tuning.stream, parts = tuning.parts](
                     std::string_view name, int block) -> Storage {
    const PretrainedWeights& weights = model.weights;
    if (!weights.has(name)) return {};  // an adapter
    const PretrainedTensor& tensor = weights[name];
    const bool final_norm = block == no_block && tensor.shape.size() == 1;
    const bool trained = !parts.empty()
                             ? std::find(parts.begin(), parts.end(), vision_part(name)) != parts.end()
                             : what == everything || (what == last_blocks && (block >= first || final_norm));
    if (trained) return {.given = true};
    const bool matrix = tensor.shape.size() > 1;
    return {.frozen = true,
            .dtype = matrix ? tensor.dtype : DType::f32,
            .given = true,
            .piece = stream && matrix && block != no_block ? model.stream->piece(name) : -1};
  };
  return spec;
}

}  // namespace plimsoll
