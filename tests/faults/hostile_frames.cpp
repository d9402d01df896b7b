#include "tests/faults/hostile_frames.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/protocol/convert.h"
#include "app/protocol/protocol_version.h"
#include "app/protocol/worker_frames.h"
#include "tests/unit/protocol/random_message.h"
#include "tests/unit/session/sample_recording.h"
#include "tests/unit/session/sample_visit.h"

namespace app::testing {
namespace {

using google::protobuf::Reflection;

/// A value in a message: a field, and its index if it is repeated.
struct Place {
  Message* message;
  const FieldDescriptor* field;
  int index = -1;
};

/// Every value that is set, and every one that could be.
void collect(Message& message, std::vector<Place>& places) {
  const Reflection& access = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const bool of_messages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field.is_repeated()) {
      for (int n = 0; n < access.FieldSize(message, &field); ++n) {
        if (of_messages) {
          collect(*access.MutableRepeatedMessage(&message, &field, n), places);
        } else {
          places.push_back({&message, &field, n});
        }
      }
    } else if (!of_messages) {
      // In a oneof only the field that is set: setting another would clear it.
      if (field.real_containing_oneof() == nullptr || access.HasField(message, &field)) {
        places.push_back({&message, &field});
      }
    } else if (access.HasField(message, &field)) {
      collect(*access.MutableMessage(&message, &field), places);
    }
  }
}

/// Every repeated field of the message and those in it.
void collect_lists(Message& message, std::vector<Place>& lists) {
  const Reflection& access = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const bool of_messages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field.is_repeated()) {
      lists.push_back({&message, &field});
      for (int n = 0; of_messages && n < access.FieldSize(message, &field); ++n) {
        collect_lists(*access.MutableRepeatedMessage(&message, &field, n), lists);
      }
    } else if (of_messages && access.HasField(message, &field)) {
      collect_lists(*access.MutableMessage(&message, &field), lists);
    }
  }
}

template <class Number>
Number extreme(std::mt19937_64& random) {
  using Limits = std::numeric_limits<Number>;
  if constexpr (std::is_floating_point_v<Number>) {
    const Number values[] = {Limits::quiet_NaN(), Limits::infinity(),   -Limits::infinity(),
                             Limits::max(),       Limits::lowest(),     Limits::denorm_min(),
                             Number{0},           Number{-1},           Number{1e-30F},
                             Number{9.3e18F},     Number{-2147483648.}, Number{0.5}};
    return values[random() % std::size(values)];
  } else {
    const Number values[] = {Limits::max(),
                             Limits::min(),
                             static_cast<Number>(Limits::max() - 1),
                             static_cast<Number>(Limits::min() + 1),
                             Number{0},
                             static_cast<Number>(-1),
                             Number{1},
                             static_cast<Number>(std::uint64_t{1} << 31),
                             static_cast<Number>(std::uint64_t{1} << 40),
                             static_cast<Number>(65536),
                             static_cast<Number>(256)};
    return values[random() % std::size(values)];
  }
}

bool is_number(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_ENUM:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return false;
    default:
      return true;
  }
}

std::string hostile_text(std::mt19937_64& random) {
  constexpr const char* kPieces[] = {"A",
                                     "unbroken",
                                     "\n",
                                     "\t",
                                     "\x1b[2J\x1b]0;title\x07",
                                     "\u202e",
                                     "\u2066\u2067\u2068",
                                     "%s%n",
                                     "\U0001f9ea",
                                     "e\u0301\u0301\u0301",
                                     "\x01\x02",
                                     "\"'\\",
                                     "../",
                                     "<script>",
                                     "\u200b"};
  const std::size_t bytes = random() % 4 == 0 ? 1 << 20 : random() % 20'000;
  std::string text;
  text.reserve(bytes + 16);
  const bool one_word = random() % 2 == 0;
  while (text.size() < bytes) {
    text += one_word ? kPieces[1] : kPieces[random() % std::size(kPieces)];
  }
  if (random() % 4 == 0) text += '\0';
  return text;
}

void make_extreme(const Place& place, std::mt19937_64& random) {
  Message& message = *place.message;
  const FieldDescriptor* field = place.field;
  const Reflection& access = *message.GetReflection();
  const auto put = [&](auto value, auto set, auto set_one) {
    if (place.index < 0) {
      (access.*set)(&message, field, value);
    } else {
      (access.*set_one)(&message, field, place.index, value);
    }
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return put(extreme<std::int32_t>(random), &Reflection::SetInt32,
                 &Reflection::SetRepeatedInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return put(extreme<std::int64_t>(random), &Reflection::SetInt64,
                 &Reflection::SetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return put(extreme<std::uint32_t>(random), &Reflection::SetUInt32,
                 &Reflection::SetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return put(extreme<std::uint64_t>(random), &Reflection::SetUInt64,
                 &Reflection::SetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return put(extreme<float>(random), &Reflection::SetFloat, &Reflection::SetRepeatedFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return put(extreme<double>(random), &Reflection::SetDouble, &Reflection::SetRepeatedDouble);
    case FieldDescriptor::CPPTYPE_BOOL:
      return put(random() % 2 == 0, &Reflection::SetBool, &Reflection::SetRepeatedBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return put(extreme<std::int32_t>(random), &Reflection::SetEnumValue,
                 &Reflection::SetRepeatedEnumValue);
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text = hostile_text(random);
      if (place.index < 0) {
        access.SetString(&message, field, text);
      } else {
        access.SetRepeatedString(&message, field, place.index, text);
      }
      return;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return;
  }
}

template <class Value>
std::function<void()> keep(const Place& place,
                           Value (Reflection::*get)(const Message&, const FieldDescriptor*) const,
                           void (Reflection::*set)(Message*, const FieldDescriptor*, Value) const,
                           Value (Reflection::*get_one)(const Message&, const FieldDescriptor*, int)
                               const,
                           void (Reflection::*set_one)(Message*, const FieldDescriptor*, int, Value)
                               const) {
  const Reflection& access = *place.message->GetReflection();
  if (place.index >= 0) {
    const Value value = (access.*get_one)(*place.message, place.field, place.index);
    return [=, &access] { (access.*set_one)(place.message, place.field, place.index, value); };
  }
  if (place.field->has_presence() && !access.HasField(*place.message, place.field)) {
    return [=, &access] { access.ClearField(place.message, place.field); };
  }
  const Value value = (access.*get)(*place.message, place.field);
  return [=, &access] { (access.*set)(place.message, place.field, value); };
}

/// Puts back what the place holds now.
std::function<void()> kept_value(const Place& place) {
  using R = Reflection;
  switch (place.field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return keep<std::int32_t>(place, &R::GetInt32, &R::SetInt32, &R::GetRepeatedInt32,
                                &R::SetRepeatedInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return keep<std::int64_t>(place, &R::GetInt64, &R::SetInt64, &R::GetRepeatedInt64,
                                &R::SetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return keep<std::uint32_t>(place, &R::GetUInt32, &R::SetUInt32, &R::GetRepeatedUInt32,
                                 &R::SetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return keep<std::uint64_t>(place, &R::GetUInt64, &R::SetUInt64, &R::GetRepeatedUInt64,
                                 &R::SetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return keep<float>(place, &R::GetFloat, &R::SetFloat, &R::GetRepeatedFloat,
                         &R::SetRepeatedFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return keep<double>(place, &R::GetDouble, &R::SetDouble, &R::GetRepeatedDouble,
                          &R::SetRepeatedDouble);
    case FieldDescriptor::CPPTYPE_BOOL:
      return keep<bool>(place, &R::GetBool, &R::SetBool, &R::GetRepeatedBool, &R::SetRepeatedBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return keep<int>(place, &R::GetEnumValue, &R::SetEnumValue, &R::GetRepeatedEnumValue,
                       &R::SetRepeatedEnumValue);
    case FieldDescriptor::CPPTYPE_STRING:
      return keep<std::string>(place, &R::GetString, &R::SetString, &R::GetRepeatedString,
                               &R::SetRepeatedString);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return [] {};
}

/// Cuts, empties or doubles a list.
void change_length(const Place& list, std::mt19937_64& random) {
  Message& message = *list.message;
  const Reflection& access = *message.GetReflection();
  const int size = access.FieldSize(message, list.field);
  if (random() % 2 == 0) {
    const int keep = size == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(size));
    while (access.FieldSize(message, list.field) > keep) access.RemoveLast(&message, list.field);
    return;
  }
  // Merging appends: a copy that has only the list doubles it.
  const std::unique_ptr<Message> only(message.New());
  only->CopyFrom(message);
  std::vector<const FieldDescriptor*> set;
  only->GetReflection()->ListFields(*only, &set);
  for (const FieldDescriptor* field : set) {
    if (field != list.field) only->GetReflection()->ClearField(only.get(), field);
  }
  message.MergeFrom(*only);
}

constexpr std::string_view kIdOfAnswer = "expertscope.wire.Answer.id";

void set_id(Message& body, std::uint64_t id) {
  const FieldDescriptor* field = body.GetDescriptor()->FindFieldByName("id");
  if (field != nullptr) body.GetReflection()->SetUInt64(&body, field, id);
}

Message& body_of(wire::Frame& frame) {
  const Reflection& access = *frame.GetReflection();
  const FieldDescriptor* field =
      access.GetOneofFieldDescriptor(frame, frame.GetDescriptor()->oneof_decl(0));
  return *access.MutableMessage(&frame, field);
}

/// Kinds of frames that go to the window, a worker's start at 16, and kinds of answers.
std::vector<const FieldDescriptor*> kinds_of_frames() {
  std::vector<const FieldDescriptor*> found;
  const auto& bodies = *wire::Frame::descriptor();
  for (int i = 0; i < bodies.field_count(); ++i) {
    const FieldDescriptor* field = bodies.field(i);
    if (field->number() >= 16 && field->number() != wire::Frame::kAnswerFieldNumber) {
      found.push_back(field);
    }
  }
  const auto& results = *wire::Answer::descriptor()->oneof_decl(0);
  for (int i = 0; i < results.field_count(); ++i) found.push_back(results.field(i));
  return found;
}

}  // namespace

wire::Frame answer_frame(std::uint64_t id, const Answer& answer) {
  wire::Frame frame;
  *frame.mutable_answer() = to_wire(id, answer);
  return frame;
}

wire::Frame finished_run(std::uint64_t id, int salt) {
  const profiling::RecordedRun run = profiling::sample_run(salt);
  return answer_frame(
      id,
      RunDone{.result = run.result, .activity = {}, .snapshot = run.snapshot, .power = run.power});
}

wire::Frame activity_of_run(std::uint64_t id, int salt) {
  return answer_frame(id, profiling::sample_run(salt).activity);
}

wire::Frame HostileFrames::right(std::uint64_t id) {
  const int salt = static_cast<int>(random_() % 50);
  wire::Frame frame;
  switch (random_() % 8) {
    case 0:
    case 1:
      return finished_run(id, salt);
    case 2:
      return activity_of_run(id, salt);
    case 3:
      return answer_frame(id, profiling::sample_comparison(salt).comparison);
    case 4:
      return answer_frame(id, profiling::sample_series(salt).comparison);
    case 5: {
      const profiling::RecordedVisit visit = profiling::sample_visit(salt);
      DoctorDone done{.snapshot = visit.report.snapshot};
      if (!visit.report.experiments.empty()) done.outcome = visit.report.experiments[0].outcome;
      if (random_() % 2 == 0) return answer_frame(id, std::move(done));
      RunError late{.error = {engine::ErrorCode::Device, "a replay was late"}};
      late.stalled = std::make_shared<const DoctorDone>(std::move(done));
      return answer_frame(id, std::move(late));
    }
    default: {
      const std::vector<const FieldDescriptor*> kinds = kinds_of_frames();
      const FieldDescriptor* kind = kinds[random_() % kinds.size()];
      Message* in = &frame;
      if (kind->containing_type() != frame.GetDescriptor()) in = frame.mutable_answer();
      RandomMessage(static_cast<unsigned>(random_()))
          .fill(*in->GetReflection()->MutableMessage(in, kind));
      // A greeting with another version is a separate fault.
      if (frame.has_hello_reply()) {
        frame.mutable_hello_reply()->set_protocol_version(protocol_version());
        frame.mutable_hello_reply()->clear_refused();
      }
    }
  }
  set_id(body_of(frame), id);
  return frame;
}

wire::Frame HostileFrames::hostile(Hostility hostility, std::uint64_t id) {
  wire::Frame frame = right(id);
  Message& body = body_of(frame);
  std::vector<Place> places;
  if (hostility == Hostility::Lengths) {
    collect_lists(body, places);
    for (std::uint64_t n = 1 + random_() % 3; n > 0 && !places.empty(); --n) {
      // Shortening one may free messages that contain others, so they are collected again.
      change_length(places[random_() % places.size()], random_);
      places.clear();
      collect_lists(body, places);
    }
    return frame;
  }
  collect(body, places);
  const auto wanted = [&](const Place& place) {
    const auto type = place.field->cpp_type();
    switch (hostility) {
      case Hostility::Numbers:
        return is_number(*place.field);
      case Hostility::Enums:
        return type == FieldDescriptor::CPPTYPE_ENUM;
      case Hostility::Text:
        return type == FieldDescriptor::CPPTYPE_STRING;
      default:
        return type != FieldDescriptor::CPPTYPE_STRING;
    }
  };
  std::erase_if(places, [&](const Place& place) { return !wanted(place); });
  if (hostility == Hostility::Numbers) {
    for (const Place& place : places) make_extreme(place, random_);
  } else {
    const std::uint64_t most = hostility == Hostility::Enums ? 8 : 3;
    for (std::uint64_t n = 1 + random_() % most; n > 0 && !places.empty(); --n) {
      make_extreme(places[random_() % places.size()], random_);
    }
  }
  set_id(body, id);
  return frame;
}

namespace {

/// By the link's own reader.
bool lets_in(const std::vector<wire::Frame>& frames) {
  WorkerFrames reader;
  return std::ranges::all_of(frames,
                             [&](const wire::Frame& frame) { return reader.read(frame).ok(); });
}

std::vector<wire::Frame> frames_of(wire::Order::TaskCase kind, std::uint64_t id, int salt) {
  switch (kind) {
    case wire::Order::kCompare:
      return {answer_frame(id, salt % 2 == 0 ? profiling::sample_series(salt).comparison
                                             : profiling::sample_comparison(salt).comparison)};
    default:
      return {activity_of_run(id, salt), finished_run(id, salt)};
  }
}

constexpr int kTriesPerPlace = 6;
constexpr std::size_t kTriedLists = 12;
constexpr std::size_t kTriedPlaces = 150;

}  // namespace

LetIn HostileFrames::let_in(wire::Order::TaskCase kind, std::uint64_t id) {
  LetIn made{.frames = frames_of(kind, id, static_cast<int>(random_() % 50))};
  // Lengths first: a place in a list is not valid any more once the list has been cut.
  for (std::size_t n = 0; n < kTriedLists; ++n) {
    const std::vector<wire::Frame> before = made.frames;
    std::vector<Place> lists;
    for (wire::Frame& frame : made.frames) collect_lists(body_of(frame), lists);
    const Place list = lists[random_() % lists.size()];
    change_length(list, random_);
    if (lets_in(made.frames)) {
      made.changed.emplace(list.field->full_name());
    } else {
      made.frames = before;
    }
  }
  std::vector<Place> places;
  for (wire::Frame& frame : made.frames) collect(body_of(frame), places);
  std::erase_if(places, [](const Place& place) { return place.field->full_name() == kIdOfAnswer; });
  std::ranges::shuffle(places, random_);
  // One field at a time rather than one place: a list has thousands of places.
  std::ranges::stable_sort(places, {}, [](const Place& place) { return place.index > 0; });
  if (places.size() > kTriedPlaces) places.resize(kTriedPlaces);
  for (const Place& place : places) {
    const std::function<void()> put_back = kept_value(place);
    bool let = false;
    for (int n = 0; n < kTriesPerPlace && !let; ++n) {
      make_extreme(place, random_);
      let = lets_in(made.frames);
    }
    (let ? made.changed : made.refused).emplace(place.field->full_name());
    if (!let) put_back();
  }
  return made;
}

wire::Frame HostileFrames::greeting() {
  wire::Frame frame;
  RandomMessage(static_cast<unsigned>(random_())).fill(*frame.mutable_hello_reply());
  std::vector<Place> places;
  collect(body_of(frame), places);
  for (const Place& place : places) {
    if (random_() % 4 == 0) make_extreme(place, random_);
  }
  frame.mutable_hello_reply()->set_protocol_version(protocol_version());
  frame.mutable_hello_reply()->clear_refused();
  return frame;
}

}  // namespace app::testing
