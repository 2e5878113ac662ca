// Whether a line goes on keeping what it allocates, from what is alive of it and when that was allocated. Buffers that come
// and go leave nothing behind, however large they are; a cache that is filled once for each sample keeps nothing of the
// second epoch; a leak keeps as much of it as of the first. Pure functions.
#pragma once
#include <optional>
#include <span>

#include "diagnose/answer.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::diagnose {

// Laplace's test of a trend: by how many standard deviations the mean place of events in [from, until] lies off the
// middle; below zero they become rare. Events no further than `together` from the last are part of it.
double trend(std::span<const double> places, double from, double until, double together);

// How far the program was at a time: in steps where it tells them, since they do not come evenly, otherwise in seconds.
double progress_at(double time, std::span<const verdict::StepMark> steps);

// Bytes that are alive of what was allocated in the first epoch; 0 while it lasts.
double kept_of_first(std::span<const Birth> born, const Epochs& epochs);

// Bytes a line kept of the first epoch and of the second so far, where it goes on in the second as in the first; nullopt
// where it does not, or too little was seen. What was allocated after `settled` may still be given back and does not count.
// A line that has given back some of the `most_of_first` bytes it kept of the first epoch replaces the old by the new.
struct KeptOn {
  double bytes = 0;
  double rate = 0;  // bytes a second, in the second epoch
};
std::optional<KeptOn> keeps_on(std::span<const Birth> born, const Epochs& epochs, double settled,
                               std::span<const verdict::StepMark> steps, double most_of_first = 0);

}  // namespace plimsoll::diagnose
