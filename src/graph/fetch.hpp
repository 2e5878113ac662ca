// Values that are not kept in memory: fetched into planned bytes ahead of their use, and again for the backward pass. While
// one is used, the next is on its way.
//
//   ValueId w = emit_fetch(list, source, piece, type, "w");   // right before the node that reads it
//   prefetch(list);                                           // when the list is complete
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "graph/graph.hpp"

namespace plimsoll {

// Where fetched values come from. Nothing here may allocate or throw once a list runs.
class Fetcher {
 public:
  virtual ~Fetcher() = default;
  // Begins to fill `into` with the bytes of a piece and returns at once.
  virtual void begin(int64_t piece, std::byte* into) = 0;
  // Returns when what was begun last for `into` has ended, well or badly.
  virtual void await(const std::byte* into) = 0;
  // Returns when nothing is on its way: a list was left in the middle.
  virtual void drain() = 0;
  // Whether something could not be fetched; from then on no result counts.
  virtual bool failed() const = 0;
};

// A frozen parameter of that type, there from here on.
ValueId emit_fetch(List& list, std::shared_ptr<Fetcher> source, int64_t piece, Type type,
                   const std::string& name);

// Splits every fetch into a beginning and an end: the end stays where the value is needed, and each beginning moves up to
// the end of the fetch before it, so that at most two values are held or on their way.
void prefetch(List& list);

// Bytes fetched by one pass through the list.
uint64_t fetched_bytes(const List& list);

}  // namespace plimsoll
