// Spools of attached processes. An input is the frames of a file, whose checks are put right before
// it is read: a reader that trusts a right check must still survive what the frames say. A second
// reading takes the input as it is.
#include <algorithm>
#include <cstring>

#include "profiling/attach/observed/observed_process.h"
#include "profiling/attach/spool/spool_reader.h"
#include "profiling/hazards/rules/diagnosis.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/support/hand_made_spool.h"

namespace fuzz {
namespace {

using profiling::HandMadeSpool;
namespace spool = profiling::spool;

std::string frames_of(HandMadeSpool& made) {
  const auto* first = reinterpret_cast<const char*>(made.bytes().data());
  return {first + sizeof(spool::FileHeader), made.bytes().size() - sizeof(spool::FileHeader)};
}

std::string_view text_of(const void* bytes, std::size_t size) {
  return {static_cast<const char*>(bytes), size};
}

/// A program with one graph of two nodes whose memory goes.
HandMadeSpool program() {
  HandMadeSpool made;
  made.add(spool::Process{.program_bytes = 2, .command_bytes = 6, .rank = 0, .unused = 0},
           std::string_view("/aa.py\0\0", 8));
  made.add(spool::Library{.path_bytes = 17, .version_bytes = 6}, "libcublasLt.so.1313.5.1");
  made.add(spool::Thread{.name_bytes = 4, .unused = 0}, "main");
  const spool::Allocation block{.address = 0x7f0000000000,
                                .bytes = 4096,
                                .stream = 0,
                                .pool = 0,
                                .memory = spool::MemoryKind::Device,
                                .in_capture = 0};
  made.add(block);
  made.add(spool::CaptureBegan{.stream = 5, .mode = 0, .result = 0});
  made.add(
      spool::TensorBlock{.address = 0x7f0000000200, .bytes = 512, .in_capture = 1, .listed = 0});
  made.add(spool::Communicator{.communicator = 0xC0, .ranks = 2, .rank = 1});
  made.add(spool::CommunicatorCaptured{.communicator = 0xC0, .graph = 0x60});
  made.add(spool::Call{.result = 900, .name_bytes = 10}, "cuMemAlloc", 99);
  made.add(spool::CaptureEnded{.stream = 5, .graph = 0x60, .result = 0, .unused = 0});
  const spool::ParameterSlot slot{.offset = 0, .bytes = 8};
  made.add(spool::Function{.function = 0xF0,
                           .module = 0xA0,
                           .slots = 1,
                           .name_bytes = 8,
                           .waits = spool::Waits::No,
                           .unused = 0},
           std::string(text_of(&slot, sizeof slot)) + "_Z5scale");
  made.add(spool::GraphBegan{.graph = 1,
                             .exec = 0xE0,
                             .source = 0x60,
                             .reason = spool::GraphReason::Instantiated,
                             .nodes = 2});
  spool::Node node{};
  node.graph = 1;
  node.parent = -1;
  node.kernel = {.function = 0xF0,
                 .grid = {1, 1, 1},
                 .block = {1, 1, 1},
                 .cluster = {},
                 .shared_bytes = 0,
                 .cooperative = 0,
                 .argument_bytes = 192};
  std::string arguments(192, '\x55');
  std::memcpy(arguments.data(), &block.address, sizeof block.address);
  made.add(node, arguments);
  made.add(spool::TensorMap{.graph = 1,
                            .exec = 0,
                            .node = node.node,
                            .address = block.address,
                            .bytes = 256,
                            .offset = 64,
                            .unused = 0});
  node.index = 1;
  node.type = 2;
  node.memset = {.address = block.address,
                 .width = 4,
                 .height = 1,
                 .pitch = 0,
                 .value = 0,
                 .element_bytes = 4};
  made.add(node);
  const spool::Edge edge{.from = 0, .to = 1, .type = spool::EdgeType::Full};
  made.add(spool::Edges{.graph = 1, .count = 1, .unused = 0}, text_of(&edge, sizeof edge));
  made.add(spool::GraphRead{.graph = 1, .nodes = 2, .result = 0});
  spool::NodeChanged changed{};
  changed.exec = 0xE0;
  changed.node = node;
  made.add(changed);
  constexpr std::string_view kCall = "cudaGraphNodeSetEnabled (off)";
  made.add(spool::NodeCall{.exec = 0xE0,
                           .node = node.node,
                           .call_bytes = static_cast<std::uint32_t>(kCall.size()),
                           .unused = 0},
           kCall);
  made.add(spool::Release{.address = block.address,
                          .bytes = 0,
                          .stream = 0,
                          .memory = spool::MemoryKind::Device,
                          .in_capture = 0});
  made.add(spool::CommunicatorEnded{
      .communicator = 0xC0, .by = spool::CommunicatorEnd::Destroy, .unused = 0});
  made.add(spool::ModuleUnloaded{.module = 0xA0});
  made.add(spool::GraphDestroyed{.exec = 0xE0, .launches = 3, .last_launch = made.end()});
  return made;
}

/// Right checks, wherever the input has frames of a believable length.
void put_checks_right(HandMadeSpool& made) {
  std::vector<std::byte>& bytes = made.bytes();
  std::size_t at = sizeof(spool::FileHeader);
  while (at + sizeof(spool::FrameHeader) <= bytes.size()) {
    spool::FrameHeader header{};
    std::memcpy(static_cast<void*>(&header), bytes.data() + at, sizeof header);
    const std::size_t most = (bytes.size() - at) / 8 * 8;
    const std::size_t length =
        std::min(std::max<std::size_t>(header.bytes / 8 * 8, sizeof header), most);
    made.set<std::uint32_t>(at + offsetof(spool::FrameHeader, magic), spool::kFrameMagic);
    made.set<std::uint32_t>(at + offsetof(spool::FrameHeader, bytes),
                            static_cast<std::uint32_t>(length));
    made.set<std::uint64_t>(
        at + offsetof(spool::FrameHeader, check),
        spool::check_of(header.kind, bytes.data() + at + sizeof header, length - sizeof header));
    at += length;
  }
}

void read(const HandMadeSpool& made) {
  const std::string path = scratch_file(
      "a.spool",
      {reinterpret_cast<const char*>(const_cast<HandMadeSpool&>(made).bytes().data()), made.end()});
  auto reader = profiling::SpoolReader::open(path);
  require(reader.ok(), "a file with a right header opens",
          reader.ok() ? "" : reader.error().message);
  profiling::ObservedProcess process;
  (void)reader.value().follow(profiling::SpoolReader::Until::End,
                              [&](const profiling::SpoolFrame& frame) { process.take(frame); });
  process.take(reader.value().state());
  count(reader.value().damaged_frames() == 0);
  const profiling::Snapshot snapshot = process.snapshot();
  const engine::Status sound = profiling::check_snapshot(snapshot);
  require(sound.ok(), "an observed snapshot is sound", sound.ok() ? "" : sound.error().message);
  (void)profiling::diagnose(snapshot, {});
}

}  // namespace

std::vector<std::string> seeds() {
  HandMadeSpool made = program();
  return {frames_of(made)};
}

std::vector<std::string> dictionary() {
  return {"FRAM",
          "python3",
          std::string("\xE0\0\0\0\0\0\0\0", 8),
          std::string("\0\0\0\0\0\x7f\0\0", 8),
          std::string("\xFF\xFF\xFF\xFF", 4),
          "libcublasLt.so",
          std::string("\x84\x03\0\0", 4)};
}

}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const fuzz::CostLimit limit(size, std::size_t{64} << 20);
  for (const bool right : {true, false}) {
    profiling::HandMadeSpool made;
    const auto* first = reinterpret_cast<const std::byte*>(bytes);
    made.bytes().insert(made.bytes().end(), first, first + size);
    made.set<std::uint64_t>(offsetof(profiling::spool::FileHeader, end), made.end());
    if (right) fuzz::put_checks_right(made);
    fuzz::read(made);
  }
  return 0;
}
