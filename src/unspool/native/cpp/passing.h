// The Python face of the passes over large arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace unspool {

void define_passes(nanobind::module_& module);

// From now on they use the instructions of this set.
void let_passes_use(const std::string& set);

}  // namespace unspool
