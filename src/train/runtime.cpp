#include "train/runtime.hpp"

#include <cstring>

#include "base/units.hpp"
#include "pretrained/stream.hpp"

namespace plimsoll {
namespace {

// Room for a copy of the trained parameters and all of their moments, other ranks' included: rank 0 saves them.
ValueId plan_staging(Program& program, const ProgramOptions& options, bool wanted) {
  if (!wanted || options.rank > 0) return no_value;
  int64_t bytes = 4096;
  for (const Parameter& p : program.trained) {
    const Type& type = (*program.graph)[p.id].type;
    for (const Type& held : ops::adamw(options.adamw, false)->infer(std::array{type}))
      bytes += static_cast<int64_t>(held.bytes());
  }
  return program.graph->value("checkpoint.staging", {{bytes}, DType::u8}, Role::scratch, Keep::forever);
}

Mapping mapping_for(uint64_t bytes, const std::function<void(uint64_t)>& fits) {
  if (fits) fits(bytes);
  if (const uint64_t free = machine_memory().available; bytes > free)
    fail_input(
        "this run needs {} and {} are available; set a line with --memory, or give a smaller --batch or "
        "--dim",
        format_bytes(bytes), format_bytes(free));
  // Huge pages spare the processor's translation tables, but round up to 2 MB: not worth it for small plans.
  Mapping memory(bytes, bytes >= (16u << 20) ? Mapping::Pages::huge : Mapping::Pages::normal);
  release_code_pages();
  memory.touch();
  return memory;
}

}  // namespace

PlannedRun plan_run(const Settings& settings, int vocab, const Way& way, int threads, Effort effort) {
  const ProgramOptions options = program_options(settings, vocab, way);
  PlannedRun run{record(options), {}};
  plan_staging(run.program, options, way.staging);
  run.plan = make_plan(*run.program.graph, threads, effort);
  return run;
}

Runtime::Runtime(const ProgramOptions& options, int threads, const kernels::Backend& gemm, bool staging,
                 const Extras& extras)
    : pool_(threads), rank_(options.rank), eight_bit_(options.adamw.eight_bit) {
  constexpr uint64_t least_saving = 1 << 20;
  Program whole = record(options);
  staging_ = plan_staging(whole, options, staging);
  Plan place = make_plan(*whole.graph, threads);
  memory_ = mapping_for(place.total, extras.fits);
  gears_.reserve(1 + extras.smaller.size());
  gears_.push_back(make_gear(std::move(whole), std::move(place), gemm));
  const Gear& first = gears_.front();
  for (const ProgramOptions& way : extras.smaller) {
    const uint64_t above = gears_.back().plan.total;
    // Ranks have the same ways at hand: what saves too little on one of them is left out by all.
    const auto worth = [&](bool here) { return options.team.all(here); };
    if (!worth(above >= first.plan.persistent + 2 * least_saving))
      break;  // what is left to save is too little
    Program next = record(way);
    const ValueId staged = plan_staging(next, way, staging);
    place = make_plan(*next.graph, threads, Effort::quick);
    if (!worth(place.total + std::max(least_saving, above / 32) <= above)) continue;
    for (size_t i = 0; i < next.model->parameters().size(); ++i)
      if (!next.model->parameters()[i].fetched &&
          place.at[size_t(next.model->parameters()[i].id)].offset !=
              first.plan.at[size_t(first.program.model->parameters()[i].id)].offset)
        fail("[runtime] two plans of the same model keep its parameters at different places");
    if (place.persistent != first.plan.persistent)
      fail("[runtime] two plans of the same model have different persistent values");
    if (staged != no_value && place.at[size_t(staged)].offset != first.plan.at[size_t(staging_)].offset)
      fail("[runtime] two plans of the same model keep its copy at different places");
    gears_.push_back(make_gear(std::move(next), std::move(place), gemm));
  }
}

Runtime::Gear Runtime::make_gear(Program program, Plan plan, const kernels::Backend& gemm) {
  Executor executor(*program.graph, plan, pool_, reinterpret_cast<std::byte*>(memory_.data()),
                    {.kernels = gemm.table, .gemm = gemm.run, .source = program.model->spec().source.get()});
  return {std::move(program), std::move(plan), std::move(executor)};
}

int Runtime::micro_batch(size_t gear) const {
  const Program& p = gears_[gear].program;
  return static_cast<int>((*p.graph)[p.tokens].type.shape[0]);
}

void Runtime::shift(size_t gear) {
  const uint64_t before = plan().total;
  gear_ = gear;
  if (resting_) return;
  if (plan().total < before) memory_.release(plan().total, memory_.size() - plan().total);
  if (plan().total > before) memory_.touch(before, plan().total - before);
}

std::string Runtime::damage() const {
  const auto* stream = dynamic_cast<const WeightStream*>(program().model->spec().source.get());
  return stream ? stream->failure() : "";
}

void Runtime::rest() {
  if (!resting_) memory_.release(plan().persistent, memory_.size() - plan().persistent);
  resting_ = true;
}

void Runtime::wake() {
  if (resting_) memory_.touch(plan().persistent, plan().total - plan().persistent);
  resting_ = false;
}

void Runtime::initialise(uint64_t seed) {
  struct Job {
    const Runtime* runtime;
    const Parameter* parameter;
    uint64_t seed;
    int parts;
  };
  for (const Parameter& p : program().model->parameters()) {
    if (p.given) continue;
    const Job job{this, &p, seed, 2 * pool_.threads()};
    pool_.run(
        [](const void* context, int part, int) {
          const auto& j = *static_cast<const Job*>(context);
          const Range range = split(j.runtime->graph()[j.parameter->id].type.elements(), part, j.parts, 1024);
          plimsoll::initialise(j.runtime->graph(), *j.parameter, j.seed,
                               j.runtime->executor().bytes(j.parameter->id), range.begin,
                               range.end - range.begin);
        },
        &job, job.parts);
  }
  for (const TensorSlot& slot : optimizer_slots())
    if (slot.data) std::memset(slot.data, 0, slot.held());
}

TensorSlot Runtime::slot(ValueId id) const {
  const Shape& shape = graph()[id].type.shape;
  TensorSlot out{graph()[id].name, {}, executor().bytes(id), graph()[id].type.dtype};
  for (int i = 0; i < shape.rank(); ++i) out.shape.push_back(shape[i]);
  return out;
}

std::vector<TensorSlot> Runtime::model_slots() const {
  std::vector<TensorSlot> slots;
  for (const Parameter& p : program().trained) slots.push_back(slot(p.id));
  return slots;
}

std::vector<TensorSlot> Runtime::given_slots(bool frozen_only) const {
  std::vector<TensorSlot> slots;
  for (const Parameter& p : program().model->parameters())
    if (p.given && !p.fetched && (p.frozen || !frozen_only)) slots.push_back(slot(p.id));
  return slots;
}

std::vector<TensorSlot> Runtime::optimizer_slots() const {
  const Program& p = program();
  if (p.shards.empty()) return {};
  // Which of the own pieces, if any, is of each trained parameter.
  std::vector<const ranks::Piece*> own(p.trained.size());
  const ranks::Shard& shard = p.shards[size_t(rank_)];
  for (const ranks::Piece& piece : shard) own[piece.parameter] = &piece;
  const bool scaled = !p.moment_scales.empty() || eight_bit_;
  std::vector<TensorSlot> slots;
  auto add = [&](size_t parameter, const char* suffix, const std::vector<ValueId>& values, size_t per_piece,
                 size_t which) {
    const Value& value = graph()[p.trained[parameter].id];
    TensorSlot slot{value.name + suffix, {}, nullptr, DType::f32};
    const bool codes = scaled && per_piece == 1;
    if (codes) slot.dtype = DType::u8;
    int64_t unit = 1;  // elements of the parameter for one of the slot's
    if (per_piece == 1)
      for (int i = 0; i < value.type.shape.rank(); ++i) slot.shape.push_back(value.type.shape[i]);
    else
      unit = kernels::moment_block, slot.shape = {(value.type.elements() + unit - 1) / unit};
    slot.begin = slot.end = 0;
    if (const ranks::Piece* piece = own[parameter]) {
      slot.data = executor().bytes(values[size_t(piece - shard.data()) * per_piece + which]);
      slot.begin = uint64_t(piece->begin / unit) * size_of(slot.dtype);
      slot.end = uint64_t((piece->end + unit - 1) / unit) * size_of(slot.dtype);
    }
    slots.push_back(std::move(slot));
  };
  for (size_t i = 0; i < p.trained.size(); ++i) add(i, ".m", p.first_moment, 1, 0);
  for (size_t i = 0; i < p.trained.size(); ++i) add(i, ".v", p.second_moment, 1, 0);
  for (size_t i = 0; scaled && i < p.trained.size(); ++i) {
    add(i, ".m_scale", p.moment_scales, 2, 0);
    add(i, ".v_scale", p.moment_scales, 2, 1);
  }
  return slots;
}

std::span<std::byte> Runtime::staging() const {
  if (staging_ == no_value) return {};
  const Gear& first = gears_.front();
  return {first.executor.bytes(staging_), (*first.program.graph)[staging_].type.bytes()};
}

std::vector<TensorView> views(const std::vector<TensorSlot>& slots) {
  std::vector<TensorView> out;
  for (const TensorSlot& s : slots) out.push_back({s.name, s.shape, s.data, s.dtype});
  return out;
}

}  // namespace plimsoll
