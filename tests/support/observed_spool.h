// The spool of a process with one graph: two memsets, one of which writes memory that was freed.
#pragma once

#include "tests/support/hand_made_spool.h"

namespace profiling {

/// `late_launches`: after the memory was freed; 0 = it never was.
inline HandMadeSpool observed_spool(int late_launches) {
  constexpr std::uint64_t kExec = 0xE0;
  constexpr std::uint64_t kBlock = 0x7f0000000000;
  HandMadeSpool made;
  made.add(spool::Process{.program_bytes = 8, .command_bytes = 16, .rank = -1, .unused = 0},
           std::string_view("train.pypython\0train.py\0", 24));
  made.add(spool::Allocation{.address = kBlock,
                             .bytes = 4096,
                             .stream = 0,
                             .pool = 0,
                             .memory = spool::MemoryKind::Device,
                             .in_capture = 0});
  made.add(spool::GraphBegan{.graph = 1,
                             .exec = kExec,
                             .source = 0x60,
                             .reason = spool::GraphReason::Instantiated,
                             .nodes = 2});
  for (std::int32_t index = 0; index < 2; ++index) {
    spool::Node node{};
    node.graph = 1;
    node.node = 0x100 + static_cast<std::uint64_t>(index);
    node.index = index;
    node.parent = -1;
    node.type = 2;
    node.memset = {.address = kBlock + 64 * static_cast<std::uint64_t>(index),
                   .width = 64,
                   .height = 1,
                   .pitch = 0,
                   .value = 0,
                   .element_bytes = 1};
    made.add(node);
  }
  const spool::Edge edge{.from = 0, .to = 1, .type = spool::EdgeType::Full};
  made.add(spool::Edges{.graph = 1, .count = 1, .unused = 0},
           {reinterpret_cast<const char*>(&edge), sizeof edge});
  made.add(spool::GraphRead{.graph = 1, .nodes = 2, .result = 0});
  if (late_launches == 0) {
    made.count(0, kExec, 1, 1, made.end());
    return made;
  }
  made.add(spool::Release{.address = kBlock,
                          .bytes = 0,
                          .stream = 0,
                          .memory = spool::MemoryKind::Device,
                          .in_capture = 0});
  made.count(0, kExec, 1, static_cast<std::uint64_t>(late_launches), made.end());
  return made;
}

}  // namespace profiling
