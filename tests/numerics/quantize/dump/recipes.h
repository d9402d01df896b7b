// The recipes that quantize_dump runs: each reads one case and writes its raw outputs.
#pragma once

#include "tests/numerics/quantize/dump/case.h"

namespace quantize_dump {

void dump_offsets(const Case& test);
void dump_per_tensor(const Case& test);
void dump_block(const Case& test);
void dump_mxfp8(const Case& test);
void dump_nvfp4(const Case& test);
void dump_delayed(const Case& test);
void dump_activate(const Case& test);
void dump_sigmoid(const Case& test);
void dump_bias(const Case& test);
void dump_dequantize(const Case& test);

}  // namespace quantize_dump
