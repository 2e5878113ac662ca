// The sites of a profiled tree as text and as JSON, as documented in docs/profile.md.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "diagnose/sites.hpp"

namespace plimsoll::report {

// Where the memory is, and the lines that grow.
std::string sites_text(const diagnose::SiteReport& report);
// One line for the moment a leak is first seen: the line that grows fastest; empty where none does.
std::string fastest_site(const diagnose::SiteReport& report);
// Adds "answer", "sites" and "memory".
void add_sites(nlohmann::ordered_json& json, const diagnose::SiteReport& report);

}  // namespace plimsoll::report
