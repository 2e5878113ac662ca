// Reads recorded series of each format and refuses everything else.
#include "diagnose/series_files.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.hpp"

namespace plimsoll::diagnose {
namespace {

TEST(SeriesFiles, Csv) {
  auto s = parse_series("time,bytes\n0,100\n1.5,200\n", "a.csv");
  ASSERT_EQ(s.size(), 1u);
  ASSERT_EQ(s[0].samples.size(), 2u);
  EXPECT_EQ(s[0].samples[1].time, 1.5);
  EXPECT_EQ(s[0].samples[1].bytes, 200);
  EXPECT_EQ(parse_series("0,1\n1,2\n2,3", "x")[0].samples.size(), 3u) << "no header";
  EXPECT_EQ(parse_series("# comment\n0 1\r\n1 2\r\n", "x")[0].samples.size(), 2u)
      << "spaces and carriage returns";
}

TEST(SeriesFiles, CsvColumnsByName) {
  auto s = parse_series("step,rss_mb,elapsed\n0,10,0\n10,12,5\n20,,10\n30,14,15\n", "a.csv");
  ASSERT_EQ(s[0].samples.size(), 3u) << "an empty field is a sample not taken";
  EXPECT_EQ(s[0].samples[1].bytes, 12e6);
  EXPECT_EQ(s[0].samples[1].time, 5);
  ASSERT_EQ(s[0].steps.size(), 3u);
  EXPECT_EQ(s[0].steps[2].step, 30);
}

TEST(SeriesFiles, CsvOfSeveralProcessesIsSplit) {
  auto s = parse_series("pid,time,rss,name\n7,0,100,a\n8,0,200,b\n7,1,110,a\n8,1,210,b\n", "a.csv");
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].name, "a");
  EXPECT_EQ(s[0].pid, 7);
  ASSERT_EQ(s[1].samples.size(), 2u);
  EXPECT_EQ(s[1].samples[1].bytes, 210);
  EXPECT_EQ(parse_series("time,bytes,pid\n0,1,7\n0,2,8\n", "x")[1].name, "pid 8");
  EXPECT_EQ(parse_series("name,time,bytes\na,0,1\nb,0,2\n", "x").size(), 2u);
}

TEST(SeriesFiles, JsonLines) {
  auto s =
      parse_series("{\"time\":0,\"bytes\":1}\n{\"time\":1,\"bytes\":null}\n{\"t\":2,\"rss\":3}\n", "a.jsonl");
  ASSERT_EQ(s[0].samples.size(), 3u);
  EXPECT_TRUE(std::isnan(s[0].samples[1].bytes));
  EXPECT_EQ(s[0].samples[2].bytes, 3);
  s = parse_series(
      "{\"time\":0,\"bytes\":1,\"pid\":7,\"name\":\"main\"}\n{\"time\":0,\"bytes\":2,\"pid\":8}\n",
      "a.jsonl");
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].name, "main");
  EXPECT_EQ(s[1].pid, 8);
  s = parse_series("{\"id\":\"x\",\"t\":[0,1],\"bytes\":[5,6]}\n{\"id\":\"y\",\"t\":[0],\"bytes\":[5]}\n",
                   "a.jsonl");
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[1].name, "y");
}

TEST(SeriesFiles, Mprof) {
  auto s = parse_series(
      "CMDLINE python x.py\nMEM 1.5 1600000000.5\nCHLD 0 2.0 1600000000.6\nMEM 2.0 1600000001.5\n", "m.dat");
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].samples[0].bytes, 1.5 * 1048576);
  EXPECT_EQ(s[0].samples[1].time, 1600000001.5);
  EXPECT_EQ(s[1].samples.size(), 1u);
}

TEST(SeriesFiles, Psrecord) {
  auto s = parse_series(
      "# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)\n   0.000   12.0   34.5   100.0\n 1.0 2.0 35.5 "
      "100.0\n",
      "p.log");
  ASSERT_EQ(s[0].samples.size(), 2u);
  EXPECT_EQ(s[0].samples[1].bytes, 35.5 * 1048576);
}

TEST(SeriesFiles, Prometheus) {
  auto s = parse_series(
      R"({"status":"success","data":{"resultType":"matrix","result":[
        {"metric":{"__name__":"process_resident_memory_bytes","pod":"a"},"values":[[1600000000,"100"],[1600000015,"NaN"]]},
        {"metric":{"pod":"b"},"values":[[1600000000,"300"]]}]}})",
      "q.json");
  ASSERT_EQ(s.size(), 2u);
  EXPECT_EQ(s[0].name, "pod=a");
  EXPECT_EQ(s[0].samples[0].bytes, 100);
  EXPECT_TRUE(std::isnan(s[0].samples[1].bytes));
}

TEST(SeriesFiles, BadInputIsOneLineThatHelps) {
  for (const char* text :
       {"", "\n\n", "hello world", "time,bytes\n", "time,bytes\n1\n", "time,bytes\n1,x\n", "a,b\n1,2\n", "{",
        "{}", "[1,2]", "{\"t\":[1],\"bytes\":[1,2]}", "{\"time\":1}", "{\"status\":\"error\",\"data\":{}}",
        "{\"status\":\"success\",\"data\":{\"result\":[{\"value\":[1,2]}]}}", "MEM x y\n",
        "# Elapsed time\n1 2\n"}) {
    try {
      parse_series(text, "file");
      ADD_FAILURE() << text;
    } catch (const InputError& e) {
      EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
      EXPECT_EQ(std::string(e.what()).find("file: "), 0u) << e.what();
    }
  }
  EXPECT_THROW(read_series("/nonexistent/file"), InputError);
  EXPECT_THROW(read_series("/tmp"), InputError);
}

TEST(SeriesFiles, BatchLines) {
  std::string id;
  BatchLine line = parse_batch_line(R"({"id":{"pod":3},"t":[0,1],"bytes":[1,null]})", id);
  EXPECT_EQ(line.id, R"({"pod":3})");
  EXPECT_EQ(line.series.samples.size(), 2u);
  EXPECT_THROW(parse_batch_line(R"({"id":"a","t":[0]})", id), InputError);
  EXPECT_EQ(id, "\"a\"");
}

}  // namespace
}  // namespace plimsoll::diagnose
