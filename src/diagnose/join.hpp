// Joins the verdict on a tree with the answer its lines give: they can tell a leak that drowns in what the tree does, a
// cache that fills with the first epoch, and what only the allocator keeps.
#pragma once
#include "diagnose/judgement.hpp"
#include "diagnose/sites.hpp"
#include "verdict/verdict.hpp"

namespace plimsoll::diagnose {

// Takes the answer into the report. What is known of a line it names, by epochs or otherwise, becomes the line's own
// verdict and place in the order.
void adopt(Answered answered, double sample_bytes, SiteReport& report);

// Changes the kind, the rate and the sentence where the answer of the report is another than the verdict's.
void join(verdict::Verdict& tree, const SiteReport& report);
// The same at the end: the process to blame and what to do next follow the verdict.
void join(Judgement& judgement, const History& history, const SiteReport& report);

}  // namespace plimsoll::diagnose
