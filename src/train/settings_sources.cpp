#include "train/settings_sources.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "train/settings_table.hpp"

namespace plimsoll {
namespace {

// What people said, the strongest voice for each setting.
GivenByName gather(const SettingsSources& sources) {
  std::string config = sources.config;
  if (const char* other = sources.environment ? sources.environment("PLIMSOLL_CONFIG") : nullptr;
      config.empty() && other)
    config = other;
  GivenByName given =
      plimsoll::gather(settings_table(), "setting", {sources.command_line, config, sources.environment});
  // `--small 5000` says two things, and each may be said only once.
  auto say = [&](const std::string& name, const std::string& text, const std::string& flag) {
    auto said = given.find(name);
    if (said != given.end() && said->second.source == Source::command_line && said->second.text != text)
      fail_input("{} and {} contradict each other; give only one of them", said->second.where, flag);
    given[name] = {text, flag, Source::command_line};
  };
  for (auto& [name, iterations] : sources.presets) {
    say("preset", name, "--" + name);
    if (iterations) say("iterations", *iterations, fmt::format("--{} {}", name, *iterations));
  }
  return given;
}

// Fields that follow another one unless they are given themselves. `base` is what held before anything was
// given.
void derive(Resolved& run, const Settings& base, const GivenByName& given) {
  Settings& s = run.settings;
  auto follows = [&](const char* name, const char* leader, auto& field, auto value, const char* rule) {
    if (given.contains(name) || field == value) return;
    field = value;
    run.origins[name] = {run.origins[leader].source, rule};
  };
  if (s.dim != base.dim) follows("ff", "dim", s.ff, 4 * s.dim, "4 x dim");
  if (s.lr != base.lr) follows("min_lr", "lr", s.min_lr, s.lr / 10, "lr / 10");
  if (base.positions == base.context || s.positions < s.context)
    follows("positions", "context", s.positions, s.context, "as context");
}

// A published model says its own sizes.
void take_model(Resolved& run, const GivenByName& given) {
  Settings& s = run.settings;
  for (const char* name :
       {"preset", "layers", "heads", "dim", "ff", "positions", "vocab", "tied", "head_bias"})
    if (const auto said = given.find(name); said != given.end())
      fail_input("{}: it does not go with --model, which says its own sizes; leave it out",
                 said->second.where);
  take_sizes_of_model(s);
  for (const char* name : {"layers", "heads", "dim", "ff", "positions", "vocab", "tied", "head_bias"})
    run.origins[name] = {run.origins["model"].source, "model"};
  if (s.tokenizer == "char") {
    if (const auto said = given.find("tokenizer"); said != given.end())
      fail_input("{}: a published model has a tokenizer of its own; leave it out, or give bytes",
                 said->second.where);
    s.tokenizer = "model";
    run.origins["tokenizer"] = {run.origins["model"].source, "model"};
  }
}

}  // namespace

Resolved trace(const SettingsSources& sources, const Settings* saved) {
  GivenByName given = gather(sources);
  Resolved run;
  auto chosen = given.find("preset");
  for (const Setting& setting : settings_table()) run.origins[setting.name] = Origin{};
  if (chosen != given.end()) {
    try {
      run.settings = preset(chosen->second.text);
    } catch (const InputError& e) {
      fail_input("{}: {}", chosen->second.where, e.what());
    }
    for (const Setting& setting : settings_table())
      if (differs_between_presets(setting))
        run.origins[setting.name] = {Source::preset, "preset " + run.settings.preset};
  }
  if (const auto model = given.find("model"); model != given.end() && !model->second.text.empty()) {
    const auto rank = given.find("lora_rank");
    run.settings = fine_tuning_defaults(rank != given.end() && rank->second.text != "0");
  }
  if (const auto vision = given.find("vision"); vision != given.end() && !vision->second.text.empty()) {
    for (const char* name : {"preset", "model"})
      if (const auto said = given.find(name); said != given.end())
        fail_input("{}: it does not go with --vision, which begins a model of its own from nothing",
                   said->second.where);
    run.settings = vision_defaults(vision->second.text);
  }
  if (saved) {
    run.settings = *saved;
    run.settings.resume.clear();  // what an earlier part of the run continued says nothing about this one
    for (const Setting& setting : settings_table())
      run.origins[setting.name] = {Source::checkpoint, "checkpoint"};
  }
  const Settings base = run.settings;
  for (const auto& [name, value] : given) {
    assign(*find_setting(name), run.settings, value.text, value.where);
    run.origins[name] = {value.source, value.where};
  }
  derive(run, base, given);
  if (!run.settings.model.empty()) {
    take_model(run, given);
    if (!saved && !given.contains("context"))
      run.settings.context = std::min(run.settings.context, run.settings.positions);
  }
  validate(run.settings);
  return run;
}

Settings resolve(const SettingsSources& sources, const Settings* saved) {
  return trace(sources, saved).settings;
}

std::string resume_path(const SettingsSources& sources) {
  GivenByName given = gather(sources);
  auto resume = given.find("resume");
  return resume == given.end() ? std::string() : resume->second.text;
}

}  // namespace plimsoll
