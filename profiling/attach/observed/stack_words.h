// The stack of a captured node in a few words: the calls that its author wrote, not those of the
// libraries between.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace profiling {

/// `python`: a line "file:line function" for each frame, innermost first. "model.py:42 forward,
/// called by train.py:7 step": at most three, the innermost that are not PyTorch's own, or the
/// innermost of all if there are no others.
std::string python_words(std::string_view python);

/// Of compiled code: "ffn(float*) in libmodel.so" for each, innermost first; those of the driver,
/// the runtime and this project are left out. At most three. In a backward pass, which runs on
/// threads of PyTorch without Python code, "AddmmBackward0 in autograd's backward pass": tensors
/// show that name as their grad_fn.
std::string native_words(const std::vector<std::string>& calls);

/// One call of compiled code, "ffn(float*) in libmodel.so", "libmodel.so+0x1234"; empty for those
/// to leave out.
std::string native_call(std::string_view module, std::string_view symbol,
                        unsigned long long offset);

}  // namespace profiling
