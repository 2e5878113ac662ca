// How long a step takes, predicted from its nodes: a table of speeds for choosing between ways, and a measurement of this
// machine for telling people.
//
//   step_seconds(graph, list, threads, isa)                          // at the table's speed: the same on every machine
//   step_seconds(graph, list, threads, isa) * slowness(settings)     // on this one
#pragma once
#include <string>

#include "graph/graph.hpp"
#include "train/settings.hpp"

namespace plimsoll {

// Micro-batches of a step that are this list's, where several ranks share them.
int own_repeats(const List& list);

double step_seconds(const Graph& graph, const List& list, int threads, const std::string& isa,
                    const std::string& precision = "f32");

// How many times longer this machine takes than the table says, measured in some milliseconds with products of the model's
// size on all threads; for predicting, never for choosing.
double slowness(const Settings& settings);

}  // namespace plimsoll
