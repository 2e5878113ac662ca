// The sites of a profiled tree as text and as JSON, as documented in docs/profile.md.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "diagnose/sites.hpp"

namespace plimsoll::report {

// Where the memory is, and the lines that grow.
std::string sites_text(const diagnose::SiteReport& report);
// Of that, the lines alone; with `named` one was said to have grown before.
std::string lines_text(const diagnose::SiteReport& report, bool named = false);
// What to say at the moment a leak is first seen: the sentence of the verdict and the line that grows fastest, or
// why it need not be a leak.
std::string first_sight(const diagnose::SiteReport& report, const std::string& sentence);
// The line that grows fastest, like "train.py:57 in train_step: out = model(batch)"; empty where none grows.
std::string growing_line(const diagnose::SiteReport& report);
// The line that grew most (diagnose::grown_most), like "train.py:57 in train_step: out = model(batch) (+412 MB, process
// 4711)"; empty where none grew.
std::string grown_line(const diagnose::SiteReport& report, double since);
// Adds "answer", "sites" and "memory".
void add_sites(nlohmann::ordered_json& json, const diagnose::SiteReport& report);
// The list "sites" alone.
nlohmann::ordered_json sites_json(const diagnose::SiteReport& report);

}  // namespace plimsoll::report
