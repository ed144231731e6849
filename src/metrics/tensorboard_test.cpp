// Event files: framing, the version first, scalars, rolling, and the mark of a restart.
#include "metrics/tensorboard.h"

#include <gtest/gtest.h>

#include <limits>

#include "formats/tfrecord.h"
#include "formats/wire.h"
#include "storage/storage.h"

namespace bertrain {
namespace {

struct Event {
  double seconds = 0;
  int64_t step = 0;
  std::string version, session;
  Named<float> scalars;
};

Event parse(const std::string& record) {
  Event event;
  WireReader m(record);
  while (m.next()) {
    if (m.field() == 1) event.seconds = m.f64();
    if (m.field() == 2) event.step = static_cast<int64_t>(m.varint());
    if (m.field() == 3) event.version = m.text();
    if (m.field() == 7) event.session = m.text();
    if (m.field() != 5) continue;
    WireReader summary(m.bytes());
    while (summary.next()) {
      WireReader value(summary.bytes());
      std::string tag;
      while (value.next()) {
        if (value.field() == 1) tag = value.text();
        if (value.field() == 2) event.scalars[tag] = value.f32();
      }
    }
  }
  return event;
}

// All events of a directory in memory, by file in the order of names.
std::vector<std::vector<Event>> events_in(const std::string& directory) {
  std::vector<std::vector<Event>> files;
  for (const Object& o : storage_for(directory).list(directory + "/")) {
    files.emplace_back();
    TfRecordReader reader(o.uri);
    for (std::string record; reader.next(record);) files.back().push_back(parse(record));
  }
  return files;
}

TEST(EventWriter, VersionThenScalars) {
  EventWriter writer("mem://tb/one", 0);
  writer.add(10, {{"loss", 2.5}, {"learning_rate", 1e-4}});
  writer.add(20, {{"loss", std::numeric_limits<double>::quiet_NaN()}});
  writer.flush();
  auto files = events_in("mem://tb/one");
  ASSERT_EQ(files.size(), 1u);
  ASSERT_EQ(files[0].size(), 3u);
  EXPECT_EQ(files[0][0].version, "brain.Event:2");
  EXPECT_EQ(files[0][1].step, 10);
  EXPECT_EQ(files[0][1].scalars, (Named<float>{{"loss", 2.5f}, {"learning_rate", 1e-4f}}));
  EXPECT_GT(files[0][1].seconds, 1.7e9);
  EXPECT_EQ(files[0][2].step, 20);
}

TEST(EventWriter, RollsBySize) {
  EventWriter writer("mem://tb/rolled", 0, 500);
  for (int step = 1; step <= 50; ++step) writer.add(step, {{"loss", step}});
  writer.flush();
  auto files = events_in("mem://tb/rolled");
  EXPECT_GT(files.size(), 2u);
  int64_t step = 0;
  for (const auto& events : files) {
    EXPECT_EQ(events[0].version, "brain.Event:2");
    for (size_t i = 1; i < events.size(); ++i) EXPECT_EQ(events[i].step, ++step);
  }
  EXPECT_EQ(step, 50);
}

TEST(EventWriter, RestartIsMarked) {
  EventWriter writer("mem://tb/restart", 30);
  writer.flush();
  auto files = events_in("mem://tb/restart");
  ASSERT_EQ(files[0].size(), 2u);
  EXPECT_EQ(files[0][1].step, 31);
  EXPECT_EQ(files[0][1].session, std::string("\x08\x01"));
}

}  // namespace
}  // namespace bertrain
