// The Python face of a Transformer's decoder.
#pragma once

#include <nanobind/nanobind.h>

namespace unspool {

void define_decoder(nanobind::module_& module);

}  // namespace unspool
