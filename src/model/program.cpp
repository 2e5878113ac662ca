#include "model/program.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/fetch.hpp"
#include "loss/head.hpp"
#include "model/early_updates.hpp"
#include "model/families.hpp"

namespace plimsoll {
namespace {

int64_t loss_rows(const ProgramOptions& options, int64_t rows) {
  return options.loss_rows > 0   ? std::min(options.loss_rows, rows)
         : options.few_loss_rows ? few_loss_rows(rows, options.model.vocab)
                                 : fast_loss_rows(rows, options.model.vocab);
}

HeadLogits head_of(List& list, const Model& model) {
  return
      [&list, &model](ValueId hidden, const std::string& name) { return model.logits(list, hidden, name); };
}

// Which forward values the backward pass makes again. A block's own values are those that nothing outside of it reads:
// they can be made from its inputs.
std::function<bool(ValueId)> recomputed(const ProgramOptions& options, const Model& model, const List& list) {
  if (options.recompute == Recompute::nothing) return {};
  const Graph& graph = list.graph();
  const int whole = options.recompute == Recompute::cheap ? 0
                    : options.recompute_blocks < 0        ? model.blocks()
                                                          : options.recompute_blocks;
  std::vector<bool> again(graph.values().size()), leaves(graph.values().size());
  std::vector<int> made_in(graph.values().size(), no_block);
  for (const Node& node : list.nodes()) {
    for (ValueId id : node.in)
      if (made_in[size_t(graph.owner(id))] != node.block) leaves[size_t(graph.owner(id))] = true;
    for (ValueId id : node.out) made_in[size_t(graph.owner(id))] = node.block;
  }
  for (const Node& node : list.nodes()) {
    if (node.block == no_block) continue;
    if (node.op->cost() == Cost::function) again[size_t(node.out[0])] = true;
    if (node.block < whole)
      for (ValueId id : node.out) again[size_t(id)] = again[size_t(id)] || !leaves[size_t(id)];
  }
  return [again](ValueId id) { return size_t(id) < again.size() && again[size_t(id)]; };
}

// The inputs for `tiles` tiles of pictures, and the features the model makes of them.
ValueId record_pictures(const Model& model, List& list, const std::string& prefix, int64_t tiles,
                        ValueId& pixels, ValueId& seen) {
  const auto vision = model.vision();
  if (!vision || tiles == 0) return no_value;
  Graph& graph = list.graph();
  if (!vision->trained) {
    seen = graph.value(prefix + "seen", {{tiles * vision->seen_rows, vision->seen_width}}, Role::input,
                       Keep::from_start);
    return model.connect(list, seen);
  }
  pixels = graph.value(prefix + "pixels", {{tiles, 3 * vision->tile * vision->tile}, DType::u8}, Role::input,
                       Keep::from_start);
  return model.connect(list, model.see(list, pixels));
}

std::vector<int64_t> elements_of(const std::vector<Parameter>& parameters, const Graph& graph) {
  std::vector<int64_t> elements;
  for (const Parameter& parameter : parameters) elements.push_back(graph[parameter.id].type.elements());
  return elements;
}

// By gradient, the last node that writes it.
std::vector<size_t> last_writers(const Program& program, const List& list) {
  std::map<ValueId, size_t> last;
  for (size_t n = 0; n < list.nodes().size(); ++n)
    for (ValueId id : list.nodes()[n].out) last[program.graph->owner(id)] = n;
  std::vector<size_t> writers;
  for (ValueId gradient : program.gradients) writers.push_back(last.at(program.graph->owner(gradient)));
  return writers;
}

// Every gradient on its way to its owners as soon as it is complete.
void begin_early(Program& program, const ranks::ExchangePointer& exchange,
                 const ranks::ReductionPointer& reduction, ValueId buffer, const std::vector<size_t>& writers,
                 List& list) {
  const size_t loop_end = list.loop_end;
  std::vector<Node> nodes(list.nodes().begin(), list.nodes().begin() + std::ptrdiff_t(loop_end)), all;
  size_t begun = 0;
  for (size_t n = 0; n < loop_end; ++n) {
    all.push_back(std::move(nodes[n]));
    Node begin{.name = fmt::format("exchange.{}", begun),
               .op = ranks::begin_reduction(exchange, reduction, begun),
               .in = {},
               .out = {}};
    for (; begun < exchange->order.size() && writers[exchange->order[begun]] == n; ++begun)
      begin.in.push_back(program.gradients[exchange->order[begun]]);
    if (begin.in.empty()) continue;
    begin.out = begin.in;
    begin.out.push_back(buffer);
    all.push_back(std::move(begin));
  }
  const size_t end = all.size();
  list.replace(std::move(all), end);
}

// Adds up what the leaves hand on, those of other ranks included.
void record_reduction(Program& program, const ProgramOptions& options, const ranks::ExchangePointer& exchange,
                      const std::vector<size_t>& writers, List& list) {
  std::vector<ValueId> losses = {program.loss};
  if (options.weighted) losses.push_back(program.cross_entropy);
  std::vector<ValueId> handed = program.gradients;
  handed.insert(handed.end(), losses.begin(), losses.end());
  const bool leaves = list.leaves().count > 1;
  if (options.ranks == 1) {
    if (leaves) list.emit_into(ops::reduce_lanes(), handed, handed, "reduction");
    return;
  }
  const auto reduction = ranks::make_reduction(exchange);
  // Lanes complete a gradient each in its own time, and a step that fetches may have to be left at any time.
  const bool early = options.exchange_beside && list.lanes == 1 && fetched_bytes(list) == 0;
  const ValueId buffer = program.graph->value("exchange", ranks::reduction_buffer(*exchange), Role::scratch,
                                              early && leaves ? Keep::forever : Keep::touched);
  if (early) begin_early(program, exchange, reduction, buffer, writers, list);
  const std::vector<ValueId>& left = early ? losses : handed;
  if (leaves) list.emit_into(ops::reduce_lanes(), left, left, "reduction");
  std::vector<ValueId> out = handed;
  out.push_back(buffer);
  list.emit_into(
      early ? ranks::end_reduction(exchange, reduction) : ranks::reduce_to_owners(exchange, reduction),
      handed, out, "exchange");
}

// The part of a value that belongs to a piece of a parameter; the value itself where that is all of it.
ValueId part_of(Graph& graph, ValueId id, const ranks::Piece& piece) {
  if (piece.elements() == graph[id].type.elements()) return id;
  return graph.view(id, piece.begin, {{piece.elements()}},
                    fmt::format("{}[{}..]", graph[id].name, piece.begin));
}

// The factor that keeps the global norm of the gradient within options.clip. Every rank sums the squares of its own pieces.
void record_clip(Program& program, const ProgramOptions& options, const ranks::ExchangePointer& exchange,
                 List& list) {
  static_assert(ranks::shard_block == ops::square_block);
  Graph& graph = *program.graph;
  int64_t blocks = 0;
  std::vector<int64_t> first;  // row of each gradient
  for (ValueId gradient : program.gradients) {
    first.push_back(blocks);
    blocks += ops::sum_squares()->infer(std::array{graph[gradient].type})[0].shape[0];
  }
  const ValueId partials = graph.value("squares", {{blocks, 2}}, Role::scratch);
  for (const ranks::Piece& piece : exchange->own()) {
    const ValueId gradient = part_of(graph, program.gradients[piece.parameter], piece);
    const int64_t rows = ops::sum_squares()->infer(std::array{graph[gradient].type})[0].shape[0];
    const ValueId part = graph.view(partials, 2 * (first[piece.parameter] + piece.begin / ops::square_block),
                                    {{rows, 2}}, fmt::format("squares.{}", piece.parameter));
    list.emit_into(ops::sum_squares(), {gradient}, {part},
                   "norm." + graph[program.trained[piece.parameter].id].name);
  }
  if (options.ranks > 1)
    list.emit_into(ranks::share_partials(exchange, elements_of(program.trained, graph)), {partials},
                   {partials}, "squares.shared");
  program.clip = graph.value("clip", {{2}}, Role::scratch, Keep::to_end);
  list.emit_into(ops::clip(options.clip), {partials}, {program.clip}, "clip");
}

// One optimiser step over every trained parameter, each rank for its own pieces.
void record_update(Program& program, const ProgramOptions& options, const ranks::ExchangePointer& exchange,
                   List& list) {
  Graph& graph = *program.graph;
  for (const ranks::Piece& piece : exchange->own()) {
    const Parameter& parameter = program.trained[piece.parameter];
    const ValueId target = part_of(graph, parameter.id, piece);
    const std::string name = graph[target].name;
    ops::AdamWOptions adamw = options.adamw;
    if (!parameter.decays()) adamw.weight_decay = 0;
    if (options.rate) adamw.rate = options.rate(graph[parameter.id].name);
    std::vector<ValueId> in = {part_of(graph, program.gradients[piece.parameter], piece)}, out = {target};
    if (options.clip > 0) in.push_back(program.clip);
    const auto update = ops::adamw(adamw, options.clip > 0, piece.begin);
    const std::vector<Type> types = update->infer(std::array{graph[target].type});
    constexpr const char* suffixes[] = {"", ".m", ".v", ".m_scale", ".v_scale"};
    for (size_t k = 1; k < types.size(); ++k)
      out.push_back(graph.value(name + suffixes[k], types[k], Role::optimizer, Keep::forever));
    program.first_moment.push_back(out[1]);
    program.second_moment.push_back(out[2]);
    program.moment_scales.insert(program.moment_scales.end(), out.begin() + 3, out.end());
    list.emit_into(update, in, out, "adamw." + name);
  }
  if (options.ranks == 1) return;
  std::vector<ValueId> parameters;
  for (const Parameter& parameter : program.trained) parameters.push_back(parameter.id);
  list.emit_into(ranks::share_parameters(exchange), parameters, parameters, "parameters.shared");
}

void record_training(Program& program, const ProgramOptions& options) {
  Graph& graph = *program.graph;
  const Model& model = *program.model;
  const int64_t B = options.batch, T = options.model.context;
  List& list = graph.list("train");
  program.train = static_cast<int>(graph.lists().size()) - 1;
  list.repeats = options.accumulate;
  list.lanes = options.lanes;
  if (options.leaves) list.set_leaves(*options.leaves);
  program.tokens = graph.value("tokens", {{B, T + 1}, DType::i32}, Role::input, Keep::from_start);
  program.loss = graph.value("loss", {{1}}, Role::activation, Keep::to_end);

  if (options.packed) {
    program.positions = graph.value("positions", {{B, T}, DType::i32}, Role::input, Keep::from_start);
    program.targets = graph.value("targets", {{B, T}, DType::i32}, Role::input, Keep::from_start);
  }
  const ValueId features = record_pictures(model, list, "", B * options.tiles, program.pixels, program.seen);
  const ValueId hidden = model.hidden(
      list, {program.tokens, B, T, options.dropout, options.lora_dropout, program.positions, features});
  const auto again = recomputed(options, model, list);
  const ValueId losses = graph.value("losses", {{B * T}}, Role::activation);
  const float scale = 1.f / static_cast<float>(B * T * options.accumulate);
  Gradients gradients;
  if (options.keep_gradients)
    for (const Parameter& parameter : program.trained) {
      const Value value = graph[parameter.id];
      gradients.place[parameter.id] =
          graph.value("d." + value.name, value.type, Role::gradient, Keep::to_end);
    }
  if (options.weighted) {
    program.weights = graph.value("weights", {{B * T}}, Role::input, Keep::from_start);
    program.cross_entropy = graph.value("cross_entropy", {{1}}, Role::activation, Keep::to_end);
  }
  emit_head(list, head_of(list, model), hidden,
            {options.packed ? program.targets : program.tokens, losses, program.weights,
             loss_rows(options, B * T), scale, options.packed},
            &gradients);
  if (options.weighted)
    list.emit_into(ops::loss_sum(scale, true), {losses, program.weights},
                   {program.loss, program.cross_entropy}, "loss");
  else
    list.emit_into(ops::loss_sum(scale), {losses}, {program.loss}, "loss");
  differentiate(list, gradients, again);
  list.loop_end = list.nodes().size();

  for (const Parameter& parameter : program.trained)
    program.gradients.push_back(gradients.of.at(parameter.id));
  program.shards = ranks::make_shards(elements_of(program.trained, graph), options.ranks);
  const std::vector<size_t> writers = last_writers(program, list);
  std::vector<size_t> order(program.trained.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return writers[a] < writers[b]; });
  const auto exchange = std::make_shared<ranks::Exchange>(ranks::Exchange{
      options.team, options.rank, options.ranks, list.leaves().all, program.shards, std::move(order)});
  record_reduction(program, options, exchange, writers, list);
  if (options.clip > 0) record_clip(program, options, exchange, list);
  record_update(program, options, exchange, list);
  const bool at_once = options.accumulate == 1 && options.ranks == 1 && options.clip <= 0;
  if (options.early_updates && at_once && !options.keep_gradients && fetched_bytes(list) == 0)
    update_early(list, list.loop_end, options.joined_from);
}

void record_evaluation(Program& program, const ProgramOptions& options) {
  Graph& graph = *program.graph;
  const int64_t B = options.evaluate_batch, T = options.model.context;
  List& list = graph.list("evaluate");
  program.evaluate = static_cast<int>(graph.lists().size()) - 1;
  program.evaluate_tokens = graph.value("e.tokens", {{B, T + 1}, DType::i32}, Role::input, Keep::from_start);
  program.evaluate_losses = graph.value("e.losses", {{B * T}}, Role::activation, Keep::to_end);
  if (options.packed) {
    program.evaluate_positions =
        graph.value("e.positions", {{B, T}, DType::i32}, Role::input, Keep::from_start);
    program.evaluate_targets = graph.value("e.targets", {{B, T}, DType::i32}, Role::input, Keep::from_start);
  }
  const ValueId features = record_pictures(*program.model, list, "e.", B * options.tiles,
                                           program.evaluate_pixels, program.evaluate_seen);
  const ValueId hidden = program.model->hidden(
      list, {program.evaluate_tokens, B, T, 0, 0, program.evaluate_positions, features});
  emit_head(list, head_of(list, *program.model), hidden,
            {options.packed ? program.evaluate_targets : program.evaluate_tokens, program.evaluate_losses,
             no_value, loss_rows(options, B * T), 1, options.packed},
            nullptr);
  list.loop_end = list.nodes().size();
}

void record_generation(Program& program, const ProgramOptions& options) {
  Graph& graph = *program.graph;
  List& list = graph.list("generate");
  program.generate = static_cast<int>(graph.lists().size()) - 1;
  program.token = graph.value("g.token", {{1}, DType::i32}, Role::input, Keep::from_start);
  const auto vision = program.model->vision();
  if (vision && options.tiles > 0) {
    program.token_row = graph.value("g.row", {{1}, DType::i32}, Role::input, Keep::from_start);
    program.token_features = graph.value("g.features", {{options.tiles * vision->rows, options.model.dim}},
                                         Role::input, Keep::list);
  }
  const ValueId hidden =
      program.model->hidden_cached(list, {program.token, program.token_features, program.token_row});
  program.logits = program.model->logits(list, hidden, "g.logits");
  graph.keep(program.logits, Keep::to_end);
  list.loop_end = list.nodes().size();
}

void record_look(Program& program, const ProgramOptions& options) {
  Graph& graph = *program.graph;
  if (options.picture_buffers > 0)
    program.picture_buffers =
        graph.value("picture.buffers", {{options.picture_buffers}, DType::u8}, Role::input, Keep::forever);
  const Model& model = *program.model;
  const int64_t tile = model.vision()->tile;
  List& list = graph.list("look");
  program.look = static_cast<int>(graph.lists().size()) - 1;
  program.look_pixels =
      graph.value("l.pixels", {{1, 3 * tile * tile}, DType::u8}, Role::input, Keep::from_start);
  program.look_seen = model.see(list, program.look_pixels);
  graph.keep(program.look_seen, Keep::to_end);
  program.look_features = model.connect(list, program.look_seen);
  graph.keep(program.look_features, Keep::to_end);
  list.loop_end = list.nodes().size();
  const auto vision = *model.vision();
  const int64_t width = vision.seen_rows * vision.seen_width;
  const auto tiles =
      std::max(options.picture_cache, int64_t(options.picture_cache_bytes / sizeof(float)) / width);
  if (!vision.trained && tiles > 0)
    program.picture_cache = graph.value("picture.cache", {{tiles, width}}, Role::input, Keep::forever);
}

void record_window(Program& program, const ProgramOptions& options) {
  Graph& graph = *program.graph;
  const int64_t T = options.model.context;
  List& list = graph.list("window");
  program.window = static_cast<int>(graph.lists().size()) - 1;
  program.window_tokens = graph.value("w.tokens", {{1, T + 1}, DType::i32}, Role::input, Keep::from_start);
  const ValueId features =
      record_pictures(*program.model, list, "w.", options.tiles, program.window_pixels, program.window_seen);
  if (options.packed)
    program.window_positions =
        graph.value("w.positions", {{1, T}, DType::i32}, Role::input, Keep::from_start);
  const ValueId hidden =
      program.model->hidden(list, {program.window_tokens, 1, T, 0, 0, program.window_positions, features});
  program.window_logits = program.model->logits(list, hidden, "w.logits");
  graph.keep(program.window_logits, Keep::to_end);
  list.loop_end = list.nodes().size();
}

}  // namespace

Program record(const ProgramOptions& options) {
  Program program;
  program.graph = std::make_unique<Graph>();
  program.model = make_model(*program.graph, options.model);
  for (const Parameter& parameter : program.model->parameters())
    if (!parameter.frozen) program.trained.push_back(parameter);
  if (options.train) record_training(program, options);
  if (options.evaluate_batch > 0) record_evaluation(program, options);
  if (options.generate) record_generation(program, options);
  if (program.model->vision() && options.tiles > 0) record_look(program, options);
  if (options.logits) record_window(program, options);
  for (List& list : program.graph->lists()) prefetch(list);
  return program;
}

}  // namespace plimsoll
