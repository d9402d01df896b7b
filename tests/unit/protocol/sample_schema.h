// Messages of sample types, as the build makes them: their schema, compiled by protoc while the
// test runs.
#pragma once

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "app/protocol/wire_schema.h"
#include "tests/unit/session/sample_recording.h"

namespace app::testing {

class SampleSchema {
 public:
  explicit SampleSchema(const engine::Type& record) {
    const engine::Type* const records[] = {&record};
    const engine::Result<std::string> schema = wire_schema(records);
    EXPECT_TRUE(schema.ok()) << schema.error().message;
    const profiling::ScratchFolder folder;
    std::ofstream(folder.file("sample.proto")) << schema.value();
    const std::string compiled = folder.file("sample.set");
    const std::string command =
        fmt::format(EXPERTSCOPE_PROTOC " --proto_path={} --descriptor_set_out={} sample.proto",
                    folder.file(""), compiled);
    EXPECT_EQ(std::system(command.c_str()), 0) << schema.value();
    google::protobuf::FileDescriptorSet files;
    std::ifstream file(compiled, std::ios::binary);
    EXPECT_TRUE(files.ParseFromIstream(&file));
    file_ = pool_.BuildFile(files.file(0));
  }

  /// An empty message; it may not outlive the schema.
  std::unique_ptr<google::protobuf::Message> make(const std::string& name) {
    return std::unique_ptr<google::protobuf::Message>(
        factory_.GetPrototype(file_->FindMessageTypeByName(name))->New());
  }

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_{&pool_};
  const google::protobuf::FileDescriptor* file_ = nullptr;
};

}  // namespace app::testing
