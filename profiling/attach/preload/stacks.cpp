#include "profiling/attach/preload/stacks.h"

#include <dlfcn.h>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "profiling/attach/preload/address_set.h"
#include "profiling/attach/preload/captures.h"
#include "profiling/attach/preload/entry_points.h"
#include "profiling/attach/preload/python_frames.h"
#include "profiling/attach/preload/real_symbols.h"
#include "profiling/attach/preload/spool_file.h"

namespace attach {
namespace {

using PyObject = void;

/// CPython's functions, of its stable interface; collection can be switched off from 3.10 on.
struct Python {
  int (*initialized)();
  int (*lock_held)();
  void* (*thread_state)();  // null in threads that do not hold the lock, from 3.12 on
  PyObject* (*frame)();     // borrowed
  PyObject* (*frame_back)(PyObject*);
  PyObject* (*frame_code)(PyObject*);
  int (*frame_line)(PyObject*);
  PyObject* (*attribute)(PyObject*, const char*);
  const char* (*utf8)(PyObject*);
  void (*retain)(PyObject*);
  void (*release)(PyObject*);
  int (*collection_off)();
  int (*collection_on)();
  void (*take_error)(PyObject**, PyObject**, PyObject**);
  void (*put_error)(PyObject*, PyObject*, PyObject*);
};

constinit Python g_python{};
constinit std::atomic<bool> g_python_ready{false};

struct UnwindContext;
using Unwind = int (*)(int (*)(UnwindContext*, void*), void*);
using UnwindAddress = std::uintptr_t (*)(UnwindContext*);
constinit std::atomic<Unwind> g_unwind{nullptr};
constinit std::atomic<UnwindAddress> g_unwind_address{nullptr};

constexpr std::size_t kMostText = 4096;  // of one stack
constexpr std::size_t kMostFrames = 24;
constexpr std::size_t kMostAddresses = 24;

/// "file:line function\n" at the end of the text; false = no room, or not known.
bool append_frame(const Python& python, PyObject* frame, char* text, std::size_t& length) {
  PyObject* code = python.frame_code(frame);
  PyObject* file = code == nullptr ? nullptr : python.attribute(code, "co_filename");
  PyObject* name = code == nullptr ? nullptr : python.attribute(code, "co_name");
  const char* file_text = file == nullptr ? nullptr : python.utf8(file);
  const char* name_text = name == nullptr ? nullptr : python.utf8(name);
  int written = 0;
  if (file_text != nullptr && name_text != nullptr) {
    written = std::snprintf(text + length, kMostText - length, "%s:%d %s\n", file_text,
                            python.frame_line(frame), name_text);
  }
  for (PyObject* object : {name, file, code}) python.release(object);
  if (written <= 0 || length + static_cast<std::size_t>(written) >= kMostText) return false;
  length += static_cast<std::size_t>(written);
  return true;
}

/// One line for each frame, innermost first; returns the length. For interpreters whose frames are
/// not known, by their interface.
std::size_t stack_with_lock(char* text) {
  if (!g_python_ready.load(std::memory_order_acquire)) return 0;
  const Python& python = g_python;
  // Without the lock the interpreter's objects may not be touched, and waiting for it could
  // deadlock.
  if (python.initialized() == 0 || python.lock_held() == 0 || python.thread_state() == nullptr)
    return 0;
  PyObject* error[3] = {};
  python.take_error(&error[0], &error[1], &error[2]);
  // A collection could run finalizers, which free memory of the device: under a capture.
  const bool collected = python.collection_off() != 0;
  std::size_t length = 0;
  PyObject* frame = python.frame();
  python.retain(frame);
  for (std::size_t count = 0; frame != nullptr && count < kMostFrames; ++count) {
    if (!append_frame(python, frame, text, length)) break;
    PyObject* back = python.frame_back(frame);
    python.release(frame);
    frame = back;
  }
  python.release(frame);
  if (collected) python.collection_on();
  python.put_error(error[0], error[1], error[2]);
  return length;
}

std::size_t python_stack(char* text) {
  std::size_t length = 0;
  return python_frames(text, kMostText, kMostFrames, length) ? length : stack_with_lock(text);
}

struct Addresses {
  std::uint64_t list[kMostAddresses];
  std::size_t count = 0;
};

int add_address(UnwindContext* context, void* data) {
  constexpr int kGoOn = 0;
  constexpr int kStop = 5;  // _URC_END_OF_STACK
  auto& addresses = *static_cast<Addresses*>(data);
  if (addresses.count == kMostAddresses) return kStop;
  addresses.list[addresses.count++] = g_unwind_address.load(std::memory_order_relaxed)(context);
  return kGoOn;
}

constinit AddressSet<1 << 14> g_addresses;  // those that have frames

void note_address(std::uint64_t address) {
  Dl_info where{};
  if (!g_addresses.add(address) || dladdr(reinterpret_cast<void*>(address - 1), &where) == 0)
    return;
  const std::uint32_t module_bytes = text_bytes(where.dli_fname);
  const std::uint32_t symbol_bytes = text_bytes(where.dli_sname);
  Frame<spool::Address> frame(module_bytes + symbol_bytes);
  if (!frame) return;
  frame->address = address;
  frame->offset = address - reinterpret_cast<std::uint64_t>(where.dli_fbase);
  frame->module_bytes = module_bytes;
  frame->symbol_bytes = symbol_bytes;
  frame.append(where.dli_fname, module_bytes);
  frame.append(where.dli_sname, symbol_bytes);
}

}  // namespace

void prepare_stacks() {
  prepare_python_frames();
  if (g_unwind.load() == nullptr) {
    // Only if the program has it: every program in C++ does.
    void* library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void* unwind = library == nullptr ? nullptr : real_dlsym(library, "_Unwind_Backtrace");
    void* address = library == nullptr ? nullptr : real_dlsym(library, "_Unwind_GetIP");
    if (unwind != nullptr && address != nullptr) {
      g_unwind_address.store(reinterpret_cast<UnwindAddress>(address));
      g_unwind.store(reinterpret_cast<Unwind>(unwind));
    }
  }
  static constinit std::atomic_flag busy = ATOMIC_FLAG_INIT;
  if (g_python_ready.load() || busy.test_and_set()) return;
  // Another thread may have been quicker.
  if (g_python_ready.load()) return busy.clear();
  Python& python = g_python;
  const bool complete = find_symbol(python.initialized, "Py_IsInitialized") &&
                        find_symbol(python.lock_held, "PyGILState_Check") &&
                        (find_symbol(python.thread_state, "PyThreadState_GetUnchecked") ||
                         find_symbol(python.thread_state, "_PyThreadState_UncheckedGet")) &&
                        find_symbol(python.frame, "PyEval_GetFrame") &&
                        find_symbol(python.frame_back, "PyFrame_GetBack") &&
                        find_symbol(python.frame_code, "PyFrame_GetCode") &&
                        find_symbol(python.frame_line, "PyFrame_GetLineNumber") &&
                        find_symbol(python.attribute, "PyObject_GetAttrString") &&
                        find_symbol(python.utf8, "PyUnicode_AsUTF8") &&
                        find_symbol(python.retain, "Py_IncRef") &&
                        find_symbol(python.release, "Py_DecRef") &&
                        find_symbol(python.collection_off, "PyGC_Disable") &&
                        find_symbol(python.collection_on, "PyGC_Enable") &&
                        find_symbol(python.take_error, "PyErr_Fetch") &&
                        find_symbol(python.put_error, "PyErr_Restore");
  g_python_ready.store(complete, std::memory_order_release);
  busy.clear();
}

void note_stack(CUstream stream, bool per_thread) {
  if (spool_header() == nullptr) return;
  const CUgraphNode node = capture_of(stream, per_thread).newest;
  if (node == nullptr) return;
  char text[kMostText];
  const std::size_t text_length = python_stack(text);
  Addresses addresses;
  if (const Unwind unwind = g_unwind.load(std::memory_order_acquire))
    unwind(add_address, &addresses);
  for (std::size_t i = 0; i < addresses.count; ++i) note_address(addresses.list[i]);
  Frame<spool::Stack> frame(addresses.count * sizeof addresses.list[0] + text_length);
  if (!frame) return;
  frame->node = reinterpret_cast<std::uint64_t>(node);
  frame->addresses = static_cast<std::uint32_t>(addresses.count);
  frame->python_bytes = static_cast<std::uint32_t>(text_length);
  frame.append(addresses.list, addresses.count * sizeof addresses.list[0]);
  frame.append(text, text_length);
}

}  // namespace attach
