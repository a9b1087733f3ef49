// The Python interface of recurrent decoders with attention.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace unspool {

void define_attention_decoder(nanobind::module_& module);

// From now on they use the instructions of this set.
void let_attention_decoders_use(const std::string& set);

}  // namespace unspool
