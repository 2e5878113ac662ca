// Joins the verdict on a tree with the answer its lines give: they can tell a leak that drowns in what the tree does, a
// cache that fills with the first epoch, and what only the allocator keeps.
#pragma once
#include "diagnose/sites.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::diagnose {

// Changes the kind, the rate and the sentence where the answer of the report is another than the verdict's.
void join(verdict::Verdict& tree, const SiteReport& report);

}  // namespace plimsoll::diagnose
