// Mutations of a stream of frames that keep most of it sound: frames are taken apart, a field of a
// message is changed through its description, and lengths are made to fit again.
#pragma once

#include "app/protocol/framing.h"
#include "tests/fuzz/fuzz_target.h"

namespace fuzz {

/// One frame for every kind of body, of order and of answer, filled at random.
std::vector<app::wire::Frame> random_frames(unsigned seed);
std::string stream_of(const std::vector<app::wire::Frame>& frames);

/// For LLVMFuzzerCustomMutator().
std::size_t mutate_frames(std::uint8_t* bytes, std::size_t size, std::size_t capacity,
                          unsigned int seed);

/// The texts of a protocol whose bytes mean little to a person.
std::vector<std::string> frame_dictionary();

}  // namespace fuzz
