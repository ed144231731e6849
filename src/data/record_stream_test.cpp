// Records: every file's examples in order, places in errors, skips that equal reading.
#include "data/record_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/tfrecord.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

void write(const std::string& uri, std::vector<int64_t> values) {
  TfRecordWriter writer(storage_for(uri).create(uri, Exists::replace));
  for (int64_t value : values) {
    writer.write(serialize_example({{"n", std::vector<int64_t>{value}}}));
  }
  writer.commit();
}

std::vector<int64_t> drain(Stream<Example>& stream, std::string_view name) {
  std::vector<int64_t> all;
  while (auto example = stream.next()) all.push_back(integers(*example, name).at(0));
  return all;
}

TEST(RecordStream, ReadsFileAfterFileAndNumbersTheRows) {
  write("mem://records/a", {1, 2, 3});
  write("mem://records/b", {4});
  std::vector<std::string> files = {"mem://records/a", "mem://records/b"};
  EXPECT_THAT(drain(*read_records(files, {}), "n"), ElementsAre(1, 2, 3, 4));
  auto stream = read_records(files, {});
  EXPECT_EQ(stream->skip(2), 2u);
  EXPECT_THAT(drain(*stream, "row"), ElementsAre(2, 3));
  EXPECT_EQ(read_records(files, {})->skip(9), 4u);
  EXPECT_EQ(integers(first_record(files[1], false)->example, "n").at(0), 4);
}

TEST(RecordStream, NamesThePlaceOfWhatIsWrong) {
  write("mem://records/c", {1, 2});
  RecordOptions options;
  options.convert = [](Example e) {
    if (integers(e, "n").at(0) == 2) throw error("2 is not allowed");
    return e;
  };
  auto stream = read_records({"mem://records/c"}, options);
  stream->next();
  EXPECT_THAT([&] { stream->next(); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("mem://records/c: record 2"), HasSubstr("2 is not allowed"))));
  TfRecordWriter writer(storage_for("mem://records/d").create("mem://records/d", Exists::replace));
  writer.write("this is no example");
  writer.commit();
  EXPECT_THAT([] { read_records({"mem://records/d"}, {})->next(); },
              ThrowsMessage<Error>(HasSubstr("mem://records/d: record 1")));
  EXPECT_THROW(read_records({"mem://records/absent"}, {})->next(), Error);
}

TEST(RecordStream, DamageIsAnErrorOrCounted) {
  write("mem://records/e", {1, 2, 3});
  std::string bytes = read_text("mem://records/e");
  bytes[bytes.size() / 2] ^= 1;
  write_text("mem://records/e", bytes);
  EXPECT_THAT([] { drain(*read_records({"mem://records/e"}, {}), "n"); },
              ThrowsMessage<Error>(HasSubstr("record 2")));
  RecordOptions options;
  options.skip_corrupt = true;
  EXPECT_THAT(drain(*read_records({"mem://records/e"}, options), "n"), ElementsAre(1, 3));
  write_text("mem://records/f", "");
  EXPECT_FALSE(first_record("mem://records/f", true));
  EXPECT_THROW(first_record("mem://records/f", false), Error);
}

}  // namespace
}  // namespace bertrain
