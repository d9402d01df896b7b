// The attach library's reading of Python stacks, for a Python program to call through ctypes, with
// or without the GIL.
#include <dlfcn.h>
#include <cstddef>
#include <thread>

#include "profiling/attach/preload/python_frames.h"
#include "profiling/attach/preload/real_symbols.h"

// The library's own comes with replacements of dlsym, which this program has no use for.
void* attach::real_dlsym(void* handle, const char* symbol) { return dlsym(handle, symbol); }

extern "C" {

/// -1 = this interpreter's frames are not known.
int stack_here(char* text, int room, int most_frames) {
  attach::prepare_python_frames();
  std::size_t length = 0;
  if (!attach::python_frames(text, static_cast<std::size_t>(room),
                             static_cast<std::size_t>(most_frames), length)) {
    return -1;
  }
  return static_cast<int>(length);
}

/// The same from a thread that Python has never seen.
int stack_of_a_stranger(char* text, int room, int most_frames) {
  int length = -1;
  std::thread([&] { length = stack_here(text, room, most_frames); }).join();
  return length;
}
}
