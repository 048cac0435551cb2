// The benchmark service in Thrift's own language: the fields of
// spec/proto/bench/v1/bench.proto under the same numbers. Thrift has no unsigned
// integers; field5 stays empty in any case.
namespace go benchthrift
namespace java io.trunkcall.lab.thrift.generated
namespace py benchthrift

service BenchService {
  BenchmarkMessage Say(1: BenchmarkMessage message)
}

struct BenchmarkMessage {
  1: required string field1
  2: required i32 field2
  3: required i32 field3
  4: optional string field4
  5: optional list<i64> field5
  6: optional i32 field6
  7: optional string field7
  9: optional string field9
  12: optional bool field12
  13: optional bool field13
  14: optional bool field14
  16: optional i32 field16
  17: optional bool field17
  18: optional string field18
  22: optional i64 field22
  23: optional i32 field23
  24: optional bool field24
  25: optional i32 field25
  29: optional i32 field29
  30: optional bool field30
  59: optional bool field59
  60: optional i32 field60
  67: optional i32 field67
  68: optional i32 field68
  78: optional bool field78
  80: optional bool field80
  81: optional bool field81
  100: optional i32 field100
  101: optional i32 field101
  102: optional string field102
  103: optional string field103
  104: optional i32 field104
  128: optional i32 field128
  129: optional string field129
  130: optional i32 field130
  131: optional i32 field131
  150: optional i32 field150
  271: optional i32 field271
  272: optional i32 field272
  280: optional i32 field280
}
