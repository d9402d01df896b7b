// The Python stack of the calling thread, read as memory. PyTorch releases the GIL before it
// launches a kernel, so most nodes are captured without it. A thread's frames are changed by that
// thread alone, which is here: neither the GIL nor a reference count nor an object's method is
// needed.
#pragma once

#include <cstddef>

namespace attach {

/// Looks up the interpreter and where its version keeps frames. Not while a capture runs.
void prepare_python_frames();

/// Writes "file:line function\n" for each frame, innermost first and at most `most_frames` of them;
/// `length` is what was written, 0 in a thread without Python code. False = not known: no
/// CPython 3.9 to 3.13, or a free-threaded build of it.
bool python_frames(char* text, std::size_t room, std::size_t most_frames, std::size_t& length);

}  // namespace attach
