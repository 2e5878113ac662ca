// Everything: docs/api.md.
#pragma once
#include "plimsoll/mark.hpp"
#include "plimsoll/training_step.hpp"
#include "plimsoll/tree_watcher.hpp"
#include "plimsoll/verdict.hpp"
