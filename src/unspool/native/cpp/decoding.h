// The Python face of a Transformer's decoder.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace unspool {

void define_decoder(nanobind::module_& module);

// Decoders made from now on may use the instructions of this set.
void let_decoders_use(const std::string& set);

}  // namespace unspool
