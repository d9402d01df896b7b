#include "tests/fuzz/frame_mutator.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>
#include <limits>
#include <utility>

#include "app/protocol/framing.h"
#include "tests/unit/protocol/random_message.h"

namespace fuzz {
namespace {

using app::wire::Frame;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::size_t kMostPlaces = 20'000;
constexpr int kMostAdded = 300;

/// A field of a message somewhere in a frame.
struct Place {
  Message* message;
  const FieldDescriptor* field;
};

/// Of fields that are there; of those that are not, a few.
void collect(Message& message, Dice& dice, std::vector<Place>& places) {
  const Reflection& access = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count() && places.size() < kMostPlaces; ++i) {
    const FieldDescriptor* field = type.field(i);
    const bool there = field->is_repeated() ? access.FieldSize(message, field) > 0
                                            : access.HasField(message, field);
    if (there || dice.one_in(8)) places.push_back({&message, field});
    if (!there || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      collect(*access.MutableMessage(&message, field), dice, places);
      continue;
    }
    for (int n = 0; n < access.FieldSize(message, field); ++n) {
      collect(*access.MutableRepeatedMessage(&message, field, n), dice, places);
    }
  }
}

std::int64_t hostile_integer(Dice& dice) {
  static const std::vector<std::int64_t> values = {0,
                                                   1,
                                                   -1,
                                                   2,
                                                   7,
                                                   16,
                                                   255,
                                                   256,
                                                   1023,
                                                   1024,
                                                   65535,
                                                   65536,
                                                   INT32_MAX,
                                                   INT32_MIN,
                                                   INT64_C(1) << 32,
                                                   INT64_C(1) << 60,
                                                   INT64_C(1) << 62,
                                                   INT64_MAX,
                                                   INT64_MIN,
                                                   INT64_MAX - 1};
  return dice.one_in(3) ? static_cast<std::int64_t>(dice.word() >> dice.below(64))
                        : dice.pick(values);
}

double hostile_real(Dice& dice) {
  using Limits = std::numeric_limits<double>;
  static const std::vector<double> values = {0.0,
                                             -0.0,
                                             1.0,
                                             -1.0,
                                             0.5,
                                             1e9,
                                             1e300,
                                             -1e300,
                                             Limits::infinity(),
                                             -Limits::infinity(),
                                             Limits::quiet_NaN(),
                                             Limits::denorm_min()};
  return dice.pick(values);
}

std::string hostile_text(Dice& dice) {
  static const std::vector<std::string> values = {"",
                                                  "0",
                                                  "\x1b[2J",
                                                  "\u202e",
                                                  "../../x",
                                                  "{}",
                                                  "13.6.0.2",
                                                  "9.0",
                                                  "_ZN4llvmE",
                                                  "%s%n",
                                                  std::string(1, '\0'),
                                                  "\xC3\xA9",
                                                  std::string(200, '9'),
                                                  std::string(2000, 'x'),
                                                  "FP8",
                                                  "\n"};
  return dice.pick(values);
}

/// A value in place of, or behind, what is there.
void write(const Place& place, Dice& dice) {
  Message* const message = place.message;
  const FieldDescriptor* const field = place.field;
  const Reflection& access = *message->GetReflection();
  const bool repeated = field->is_repeated();
  const int count = repeated ? access.FieldSize(*message, field) : 0;
  const bool add = repeated && (count == 0 || dice.one_in(2));
  const int at = count == 0 ? 0 : static_cast<int>(dice.below(static_cast<std::size_t>(count)));
  const auto put = [&](auto value, auto set, auto set_at, auto append) {
    if (!repeated) return (access.*set)(message, field, value);
    if (!add) return (access.*set_at)(message, field, at, value);
    for (int n = dice.one_in(4) ? kMostAdded : 1; n > 0; --n) {
      (access.*append)(message, field, value);
    }
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(static_cast<std::int32_t>(hostile_integer(dice)), &Reflection::SetInt32,
                 &Reflection::SetRepeatedInt32, &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return put(hostile_integer(dice), &Reflection::SetInt64, &Reflection::SetRepeatedInt64,
                 &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(static_cast<std::uint32_t>(hostile_integer(dice)), &Reflection::SetUInt32,
                 &Reflection::SetRepeatedUInt32, &Reflection::AddUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(static_cast<std::uint64_t>(hostile_integer(dice)), &Reflection::SetUInt64,
                 &Reflection::SetRepeatedUInt64, &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(static_cast<float>(hostile_real(dice)), &Reflection::SetFloat,
                 &Reflection::SetRepeatedFloat, &Reflection::AddFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(hostile_real(dice), &Reflection::SetDouble, &Reflection::SetRepeatedDouble,
                 &Reflection::AddDouble);
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(dice.one_in(2), &Reflection::SetBool, &Reflection::SetRepeatedBool,
                 &Reflection::AddBool);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int known = field->enum_type()->value_count();
      const int value = dice.one_in(4)
                            ? static_cast<int>(hostile_integer(dice))
                            : static_cast<int>(dice.below(static_cast<std::size_t>(known)));
      return put(value, &Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue,
                 &Reflection::AddEnumValue);
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text = hostile_text(dice);
      if (repeated && add) return access.AddString(message, field, std::move(text));
      if (repeated) return access.SetRepeatedString(message, field, at, std::move(text));
      return access.SetString(message, field, std::move(text));
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      app::testing::RandomMessage random(static_cast<unsigned>(dice.word()));
      if (repeated && add && count > 0) {  // a copy of one that is there
        const std::string bytes =
            access.GetRepeatedMessage(*message, field, at).SerializeAsString();
        access.AddMessage(message, field)->ParseFromString(bytes);
      } else if (repeated && add) {
        random.fill(*access.AddMessage(message, field));
      } else if (repeated) {
        access.MutableRepeatedMessage(message, field, at)->Clear();
      } else {
        random.fill(*access.MutableMessage(message, field));
      }
      return;
    }
  }
}

void mutate(Frame& frame, Dice& dice) {
  std::vector<Place> places;
  collect(frame, dice, places);
  if (places.empty()) return;
  const Place place = dice.pick(places);
  const Reflection& access = *place.message->GetReflection();
  const int count = place.field->is_repeated() ? access.FieldSize(*place.message, place.field) : 0;
  switch (dice.below(8)) {
    case 0:
      return access.ClearField(place.message, place.field);
    case 1:
      if (count > 0) access.RemoveLast(place.message, place.field);
      return;
    case 2:
      if (count > 1) {
        access.SwapElements(place.message, place.field,
                            static_cast<int>(dice.below(static_cast<std::size_t>(count))),
                            static_cast<int>(dice.below(static_cast<std::size_t>(count))));
      }
      return;
    default:
      return write(place, dice);
  }
}

/// The frames at the start of the bytes; what is none stays in `rest`.
std::vector<Frame> frames_of(const std::string& bytes, std::string& rest) {
  std::vector<Frame> frames;
  std::size_t at = 0;
  while (bytes.size() - at >= app::kFrameHeaderBytes) {
    std::size_t length = 0;
    for (std::size_t i = 4; i > 0; --i) {
      length = length << 8 | static_cast<unsigned char>(bytes[at + 3 + i]);
    }
    Frame frame;
    if (length > bytes.size() - at - app::kFrameHeaderBytes ||
        !frame.ParsePartialFromString(bytes.substr(at + app::kFrameHeaderBytes, length))) {
      break;
    }
    frames.push_back(std::move(frame));
    at += app::kFrameHeaderBytes + length;
  }
  rest = bytes.substr(at);
  return frames;
}

}  // namespace

std::vector<Frame> random_frames(unsigned seed) {
  std::vector<Frame> frames;
  // One for each alternative of the oneof of `message`, which is a frame or in one.
  const auto add_kinds = [&](auto in_frame) {
    Frame probe;
    const auto& kinds = *in_frame(probe).GetDescriptor()->oneof_decl(0);
    for (int i = 0; i < kinds.field_count(); ++i) {
      Message& message = in_frame(frames.emplace_back());
      app::testing::RandomMessage random(seed + static_cast<unsigned>(i));
      random.fill(*message.GetReflection()->MutableMessage(&message, kinds.field(i)));
    }
  };
  add_kinds([](Frame& frame) -> Message& { return frame; });
  add_kinds([](Frame& frame) -> Message& { return *frame.mutable_order(); });
  add_kinds([](Frame& frame) -> Message& { return *frame.mutable_answer(); });
  return frames;
}

std::string stream_of(const std::vector<Frame>& frames) {
  std::string bytes;
  for (const Frame& frame : frames) {
    const auto encoded = app::encode_frame(frame);
    require(encoded.ok(), "a frame of the tests can be written");
    bytes += encoded.value();
  }
  return bytes;
}

std::size_t mutate_frames(std::uint8_t* bytes, std::size_t size, std::size_t capacity,
                          unsigned int seed) {
  Dice dice(seed);
  if (dice.one_in(8)) return LLVMFuzzerMutate(bytes, size, capacity);
  std::string rest;
  std::vector<Frame> frames = frames_of({reinterpret_cast<const char*>(bytes), size}, rest);
  if (frames.empty()) return LLVMFuzzerMutate(bytes, size, capacity);
  const std::size_t at = dice.below(frames.size());
  switch (dice.below(12)) {
    case 0: {
      const Frame copy = frames[at];
      frames.push_back(copy);
      break;
    }
    case 1:
      if (frames.size() > 1) frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 2: {
      // Bytes of one message, its length made to fit: what protobuf's parser itself must bear.
      const std::string body = mutated(frames[at].SerializePartialAsString(), capacity);
      frames[at].ParsePartialFromString(body);
      break;
    }
    default:
      for (std::size_t steps = 1 + dice.below(3); steps > 0; --steps) mutate(frames[at], dice);
  }
  std::string out = stream_of(frames);
  if (dice.one_in(16)) out += rest;
  return put_back(out, bytes, size, capacity);
}

std::vector<std::string> frame_dictionary() {
  return {std::string(app::kFrameMagic),
          std::string("\0\0\0\0", 4),
          "\xFF\xFF\xFF\x7F",
          std::string("\0\0\0\x10", 4),
          "\x80\x80\x80\x80\x10",
          "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"};
}

}  // namespace fuzz
