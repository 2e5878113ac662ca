// A judgement as text and as JSON: of a live tree or of a recorded run.
#pragma once
#include <string>
#include <vector>

#include "diagnose/judgement.hpp"
#include "diagnose/sites.hpp"

namespace plimsoll::report {

// The verdict, the processes with their roles, what to know about the measurement.
std::string final_text(const diagnose::Judgement& judgement, const diagnose::History& history,
                       const std::vector<std::string>& notes, const diagnose::SiteReport* sites = nullptr);
// One line of JSON as documented in docs/watch.md; with `all` each process's own verdict too, with `sites` what
// docs/profile.md describes.
std::string final_json(const diagnose::Judgement& judgement, const diagnose::History& history, double until,
                       bool all, const diagnose::SiteReport* sites = nullptr);

}  // namespace plimsoll::report
