#include "app/protocol/protocol_version.h"

#include <set>
#include <string_view>

#include "app/protocol/framing.h"

namespace app {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

/// FNV-1a of descriptions, independent of how a version of protobuf prints them.
class Hash {
 public:
  std::uint32_t value = 0x811c9dc5;

  void message(const Descriptor& type) {
    if (!seen_.insert(&type).second) return;
    text(type.name());
    for (int i = 0; i < type.field_count(); ++i) {
      const FieldDescriptor& field = *type.field(i);
      text(field.name());
      number(field.number());
      number(field.type());
      number(field.is_repeated() ? 1 : 0);
      if (field.message_type() != nullptr) message(*field.message_type());
      if (field.enum_type() != nullptr) enumeration(*field.enum_type());
    }
  }

 private:
  void enumeration(const EnumDescriptor& type) {
    if (!seen_.insert(&type).second) return;
    for (int i = 0; i < type.value_count(); ++i) {
      text(type.value(i)->name());
      number(type.value(i)->number());
    }
  }
  void text(std::string_view words) {
    for (const char c : words) byte(static_cast<unsigned char>(c));
    byte(0);
  }
  void number(int number) {
    for (int shift = 0; shift < 32; shift += 8) byte(static_cast<unsigned>(number) >> shift & 0xFF);
  }
  void byte(std::uint32_t byte) { value = (value ^ byte) * 0x01000193; }

  std::set<const void*> seen_;
};

}  // namespace

std::uint32_t version_of(const Descriptor& message) {
  Hash hash;
  hash.message(message);
  return hash.value;
}

std::uint32_t protocol_version() {
  static const std::uint32_t version = version_of(*wire::Frame::descriptor());
  return version;
}

}  // namespace app
