SELECT sum(length(i)) AS letters FROM (SELECT toValidUTF8(toString("user_id")) AS u, toValidUTF8(toString("item")) AS i FROM "shop"."events" WHERE "user_id" IS NOT NULL AND "item" IS NOT NULL) AS t
