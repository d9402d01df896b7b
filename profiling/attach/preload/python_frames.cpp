#include "profiling/attach/preload/python_frames.h"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "profiling/attach/preload/address_set.h"
#include "profiling/attach/preload/real_symbols.h"

namespace attach {
namespace {

using Address = std::uintptr_t;  // in this process

/// Where a minor version of CPython keeps what a stack needs: offsets in bytes on a 64-bit machine,
/// in a build with the GIL. Computed by offsetof from the headers
/// of 3.9.18, 3.10.13, 3.11.7, 3.12.1 and 3.13.0 (Include/cpython, Include/internal); a minor
/// version keeps its layout.
struct Layout {
  int minor;
  std::size_t thread_frame;    // in the thread's state: the frame, or what points to it
  std::size_t indirect_frame;  // there; kDirect = thread_frame is the frame itself
  std::size_t frame_back;
  std::size_t frame_code;
  std::size_t frame_instruction;
  std::size_t frame_owner;  // a byte; kNone: every frame is of Python code
  std::size_t code_file;
  std::size_t code_name;
  std::size_t code_instructions;  // kNone: the frame holds an index
  int bytes_per_index;            // of that index
  std::size_t ascii_text;         // behind the header of a string
  std::size_t other_text;
};
constexpr std::size_t kDirect = ~std::size_t{0};
constexpr std::size_t kNone = ~std::size_t{0};
constexpr Layout kLayouts[] = {
    {9, 24, kDirect, 24, 32, 104, kNone, 104, 112, kNone, 1, 48, 72},
    {10, 24, kDirect, 24, 32, 96, kNone, 104, 112, kNone, 2, 48, 72},
    {11, 56, 8, 48, 32, 56, kNone, 112, 120, 184, 0, 48, 72},
    {12, 56, 0, 8, 0, 56, 70, 112, 120, 192, 0, 40, 56},
    {13, 72, kDirect, 8, 0, 56, 70, 112, 120, 200, 0, 40, 56},
};
// The same in all of them.
constexpr std::size_t kType = 8;
constexpr std::size_t kTextLength = 16;
constexpr std::size_t kTextState = 32;
// As much as is read.
constexpr std::size_t kMostFrameBytes = 112;
constexpr std::size_t kMostCodeBytes = 128;
constexpr unsigned char kOwnedByTheCStack = 3;  // a frame that stands for C code
constexpr std::size_t kMostCharacters = 512;
constexpr std::size_t kMostSteps = 256;  // from frame to frame

/// No more than that: the frame may be the last thing in its memory.
constexpr std::size_t frame_bytes(const Layout& layout) {
  std::size_t end = std::max({layout.frame_back, layout.frame_code, layout.frame_instruction});
  if (layout.frame_owner != kNone) end = std::max(end, layout.frame_owner);
  return end + sizeof(Address);
}
constexpr std::size_t code_bytes(const Layout& layout) {
  return std::max(layout.code_file, layout.code_name) + sizeof(Address);
}
static_assert(std::ranges::all_of(kLayouts, [](const Layout& layout) {
  return frame_bytes(layout) <= kMostFrameBytes && code_bytes(layout) <= kMostCodeBytes;
}));

/// CPython's functions and types; none of these functions touches an object's reference count.
struct Interpreter {
  const Layout* layout;
  int (*initialized)();
  void* (*thread_state)();
  int (*line)(Address code, int offset);
  Address code_type;
  Address text_type;
};

constinit Interpreter g_interpreter{};
constinit std::atomic<bool> g_known{false};

// Code objects whose bytes were found to be theirs. A frame of one of them needs no further check.
constinit AddressSet<1 << 13> g_codes;

/// False where the memory is gone, as it is of threads that outlive the interpreter.
bool read_bytes(Address from, void* to, std::size_t bytes) {
  iovec local{to, bytes};
  iovec remote{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

template <class T>
T at(const unsigned char* bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

bool read_address(Address from, Address& to) { return read_bytes(from, &to, sizeof to); }

/// UTF-8 at the end of `text`; false = no room.
bool append_character(std::uint32_t character, char* text, std::size_t room, std::size_t& length) {
  const std::size_t bytes = character < 0x80      ? 1
                            : character < 0x800   ? 2
                            : character < 0x10000 ? 3
                                                  : 4;
  if (length + bytes >= room) return false;
  constexpr unsigned kFirst[] = {0, 0, 0xC0, 0xE0, 0xF0};
  for (std::size_t i = bytes; i-- > 1;) {
    text[length + i] = static_cast<char>(0x80 | (character & 0x3F));
    character >>= 6;
  }
  text[length] = static_cast<char>(kFirst[bytes] | character);
  length += bytes;
  return true;
}

/// A str object's text; false = it is none, or no room.
bool append_text(const Interpreter& python, Address object, char* text, std::size_t room,
                 std::size_t& length) {
  const auto* header = reinterpret_cast<const unsigned char*>(object);
  if (at<Address>(header, kType) != python.text_type) return false;
  // interned:2, kind:3, compact:1, ascii:1
  const auto state = at<std::uint32_t>(header, kTextState);
  const std::size_t size = state >> 2 & 7;  // of a character
  const bool compact = (state >> 5 & 1) != 0;
  const bool ascii = (state >> 6 & 1) != 0;
  const auto characters = at<std::size_t>(header, kTextLength);
  if (!compact || (size != 1 && size != 2 && size != 4)) return false;
  const unsigned char* data =
      header + (ascii ? python.layout->ascii_text : python.layout->other_text);
  // The end of a path says more than its beginning.
  const std::size_t first = characters - std::min(characters, kMostCharacters);
  for (std::size_t i = first; i < characters; ++i) {
    std::uint32_t character = 0;
    std::memcpy(&character, data + i * size, size);
    if (!append_character(character, text, room, length)) return false;
  }
  return true;
}

/// The innermost frame of the calling thread, 0 = none; false = its memory is gone.
bool current_frame(const Interpreter& python, Address& frame) {
  const auto thread = reinterpret_cast<Address>(python.thread_state());
  frame = 0;
  if (thread == 0) return true;  // no thread of Python's
  if (!read_address(thread + python.layout->thread_frame, frame)) return false;
  const bool direct = python.layout->indirect_frame == kDirect;
  return direct || frame == 0 || read_address(frame + python.layout->indirect_frame, frame);
}

/// Whether it is a code object with two strings where the layout has them.
bool is_code(const Interpreter& python, Address code) {
  if (g_codes.contains(code)) return true;
  unsigned char bytes[kMostCodeBytes];
  if (!read_bytes(code, bytes, code_bytes(*python.layout)) ||
      at<Address>(bytes, kType) != python.code_type)
    return false;
  for (const std::size_t text : {python.layout->code_file, python.layout->code_name}) {
    Address type = 0;
    if (!read_address(at<Address>(bytes, text) + kType, type) || type != python.text_type)
      return false;
  }
  g_codes.add(code);
  return true;
}

/// In bytes from the first instruction of the frame's code, whose address is `code`.
int instruction_offset(const Layout& layout, const unsigned char* frame, Address code) {
  if (layout.code_instructions == kNone)
    return at<int>(frame, layout.frame_instruction) * layout.bytes_per_index;
  return static_cast<int>(at<Address>(frame, layout.frame_instruction) - code -
                          layout.code_instructions);
}

enum class Shown { Yes, NotPython, NoText, NotUnderstood };

Shown append_frame(const Interpreter& python, const unsigned char* frame, char* text,
                   std::size_t room, std::size_t& length) {
  const Layout& layout = *python.layout;
  if (layout.frame_owner != kNone && frame[layout.frame_owner] == kOwnedByTheCStack)
    return Shown::NotPython;
  const auto code = at<Address>(frame, layout.frame_code);
  if (!is_code(python, code)) return Shown::NotUnderstood;
  const auto* bytes = reinterpret_cast<const unsigned char*>(code);
  const int offset = instruction_offset(layout, frame, code);
  std::size_t end = length;
  const auto file = at<Address>(bytes, layout.code_file);
  if (!append_text(python, file, text, room, end)) return Shown::NoText;
  const int written = std::snprintf(text + end, room - end, ":%d ", python.line(code, offset));
  if (written <= 0 || end + static_cast<std::size_t>(written) >= room) return Shown::NoText;
  end += static_cast<std::size_t>(written);
  const auto name = at<Address>(bytes, layout.code_name);
  if (!append_text(python, name, text, room, end)) return Shown::NoText;
  if (!append_character('\n', text, room, end)) return Shown::NoText;
  length = end;
  return Shown::Yes;
}

}  // namespace

void prepare_python_frames() {
  static constinit std::atomic_flag busy = ATOMIC_FLAG_INIT;
  if (g_known.load() || busy.test_and_set()) return;
  // Another thread may have been quicker.
  if (g_known.load()) return busy.clear();
  Interpreter& python = g_interpreter;
  const char* (*version)() = nullptr;
  if (find_symbol(version, "Py_GetVersion") &&
      find_symbol(python.initialized, "Py_IsInitialized") &&
      find_symbol(python.thread_state, "PyGILState_GetThisThreadState") &&
      find_symbol(python.line, "PyCode_Addr2Line") &&
      find_symbol(python.code_type, "PyCode_Type") &&
      find_symbol(python.text_type, "PyUnicode_Type")) {
    const char* words = version();  // "3.12.1 (main, ..."
    const int minor = std::strncmp(words, "3.", 2) == 0 ? std::atoi(words + 2) : -1;
    const auto* layout = std::ranges::find(kLayouts, minor, &Layout::minor);
    // A free-threaded build has other headers of objects, and says so in its version.
    const bool threaded = std::strstr(words, "free-threading") != nullptr;
    python.layout = layout == std::end(kLayouts) || threaded ? nullptr : layout;
    g_known.store(python.layout != nullptr, std::memory_order_release);
  }
  busy.clear();
}

bool python_frames(char* text, std::size_t room, std::size_t most_frames, std::size_t& length) {
  length = 0;
  if (!g_known.load(std::memory_order_acquire)) return false;
  const Interpreter& python = g_interpreter;
  Address frame = 0;
  if (python.initialized() == 0 || !current_frame(python, frame)) return false;
  std::size_t count = 0;
  for (std::size_t step = 0; frame != 0 && count < most_frames && step < kMostSteps; ++step) {
    unsigned char bytes[kMostFrameBytes];
    const Shown shown = read_bytes(frame, bytes, frame_bytes(*python.layout))
                            ? append_frame(python, bytes, text, room, length)
                            : Shown::NotUnderstood;
    // What was read before is right.
    if (shown == Shown::NotUnderstood) return count > 0;
    if (shown == Shown::NoText) break;
    count += shown == Shown::Yes ? 1 : 0;
    frame = at<Address>(bytes, python.layout->frame_back);
  }
  return true;
}

}  // namespace attach
